import type { KnownFault } from '../known-fault.js';

/** LiteLLM's proxy in front of engines. */
export const LITELLM: readonly KnownFault[] = [
  {
    id: 'litellm_engine_not_reached',
    cause: 'role_missing',
    needles: [
      'Hosted_vllmException - Connection error',
      'Hosted_vllmException - Cannot connect to host',
      'OpenAIException - Connection error',
    ],
    says: 'LiteLLM does not reach the engine behind a model',
    why: 'Nobody listens at the api_base of that model: the engine does not run, api_base has localhost where LiteLLM runs in a container of its own, or it lacks /v1.',
    cure: 'Set litellm_params.api_base of that model in model_list to the engine as LiteLLM sees it (http://HOST:8000/v1, with model: hosted_vllm/NAME), and see that curl http://HOST:8000/v1/models answers from its container',
    disturbs: 'frontend',
  },
  {
    id: 'litellm_in_cooldown',
    cause: 'role_missing',
    needles: ['No deployments available for selected model, Try again in'],
    pattern: /Passed model=(\S{1,100}?)\.? .{0,100}cooldown_list=\[[^\]]/,
    says: 'LiteLLM sends no requests to $1: all its deployments are in cooldown after errors (429)',
    why: 'A deployment whose requests fail is left out for cooldown_time (5 s) once more than allowed_fails failed in a minute. The errors before these lines are the reason: an engine that is not reached, a name that it does not serve, timeouts.',
    cure: 'Repair what the errors before the first cooldown name (api_base and model of $1 in model_list); for engines of your own set router_settings: { disable_cooldowns: true }, or raise allowed_fails',
    disturbs: 'frontend',
  },
  {
    id: 'litellm_no_deployment',
    cause: 'role_missing',
    needles: ['No deployments available for selected model, Try again in'],
    pattern: /Passed model=(\S{1,100}?)\.? (?!.{0,200}cooldown_list=\[[^\]])/,
    follows: ['litellm_in_cooldown', 'litellm_rate_limited'],
    says: 'LiteLLM has no deployment to which it could send requests for $1 (429)',
    why: 'All deployments of that model_name were left out: after errors (cooldown_time, 5 s), at their rpm or tpm, by a tag or a region, or because the checks before a call (enable_pre_call_checks) find the prompt too long for them.',
    cure: 'Repair what the first error before this line names (api_base and model of $1 in model_list; curl http://LITELLM:4000/health names the deployments that fail), and set router_settings: { disable_cooldowns: true } where $1 has one engine alone',
    commands: [
      'curl -s -H "Authorization: Bearer KEY" "http://LITELLM:4000/health?model=$1"    # unhealthy_endpoints with their errors',
    ],
    disturbs: 'frontend',
  },
  {
    id: 'litellm_rate_limited',
    cause: 'settings_refused',
    needles: ['RouterRateLimitErrorBasic: No deployments available'],
    says: "LiteLLM refuses requests (429): each deployment of the model is at its own rpm or tpm of LiteLLM's configuration",
    why: 'With enable_pre_call_checks LiteLLM counts requests a minute for each deployment, and leaves those out that are at their limit. The engines are not asked.',
    cure: 'Raise or delete rpm (and tpm) in litellm_params of the deployments in model_list, or add deployments to the model group',
    disturbs: 'frontend',
  },
  {
    id: 'litellm_timeout',
    cause: 'role_missing',
    needles: ['litellm.Timeout: APITimeoutError - Request timed out'],
    pattern: /timeout value=(\d{1,6})/,
    isSign: true,
    says: 'LiteLLM gives requests up after $1 s without an answer of the engine (408)',
    why: 'The engine holds them in its queue, answers longer than that, or hangs. The limit is for the whole answer unless the deployment has a stream_timeout.',
    cure: 'See num_requests_waiting of the engine (curl http://ENGINE:8000/metrics): where it grows, add engines or set max_parallel_requests of the deployment; where answers are only long, raise timeout and stream_timeout in its litellm_params (router_settings.timeout for all)',
    disturbs: 'frontend',
  },
];
