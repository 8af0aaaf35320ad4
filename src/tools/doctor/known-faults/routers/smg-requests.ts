import type { KnownFault } from '../known-fault.js';

const REACHED = 'kubectl exec ROUTER -- curl -sS -m 5 -o /dev/null -w "%{http_code}\\n" $1/health    # 200';

/**
 * What SGLang's gateway says of requests that engines do not take, and of its own settings: sgl-router 0.1 to 0.3 of
 * SGLang 0.4.6 to 0.5.6, sgl-model-gateway, smg 1.0 to 1.9.
 */
export const SMG_REQUESTS: readonly KnownFault[] = [
  // sglang_router before 0.1.2, whose Python hands the missing list on.
  {
    id: 'sglang_router_without_urls',
    cause: 'settings_refused',
    needles: ["argument 'worker_urls': 'NoneType' object cannot be converted"],
    says: 'the router of SGLang does not start: it was given no engine (worker_urls)',
    why: 'This version wants the addresses of its engines as it starts.',
    cure: 'Start the router with --worker-urls http://ENGINE:PORT …, one for each engine, or run sglang-router 0.1.2 or later, which takes engines later too',
    disturbs: 'frontend',
  },
  {
    id: 'smg_engine_unreached',
    cause: 'role_missing',
    needles: ['Failed to send typed request worker_url=', 'Failed to send request to http'],
    pattern:
      /(?:worker_url=|request to )(https?:\/\/[^\s/:]{1,120}(?::\d{1,5})?)\S{0,80}.{0,120}?error sending request for url/,
    isSign: true,
    follows: ['too_many_open_files', 'smg_workers_not_healthy'],
    says: 'the router cannot send to the engine $1: no connection, or none that lasts until the answer',
    why: 'Nothing listens at that address any more, a firewall lies between, or the engine takes longer than --request-timeout-secs. The router tries another engine where it has one; without that the client gets the error.',
    cure: 'See whether the engine at $1 serves (its log, kubectl get pods: RESTARTS) and start it again where it has ended; where it lives, give it in --worker-urls an address that the router reaches (--host 0.0.0.0 on the engine), and raise --request-timeout-secs above the longest answer',
    commands: [REACHED, 'kubectl get pods -o wide    # RESTARTS, and whose address it is'],
    disturbs: 'nothing',
  },
  {
    id: 'smg_workers_not_healthy',
    cause: 'role_missing',
    needles: ['to become healthy'],
    pattern: /Timeout (\d{1,6})s waiting for workers? (.{1,120}?) to become healthy/,
    says: 'the router ends, as its engines have not answered /health within $1 s: $2',
    why: 'As it starts the router asks each engine that it is given until all answer. Engines load their model and capture graphs first, which takes minutes; one that listens on 127.0.0.1 or at another port never answers.',
    cure: 'Start the router with --worker-startup-timeout-secs above the time that the model takes to load (--router-worker-startup-timeout-secs with sglang_router.launch_server), and each engine with --host 0.0.0.0 and the port of $2',
    commands: [
      'kubectl exec ROUTER -- curl -sS -m 5 ENGINE_URL/health    # each of them',
      'kubectl logs ENGINE | grep -m1 "fired up and ready"',
    ],
    disturbs: 'frontend',
  },
  {
    id: 'smg_prefill_unreached',
    cause: 'role_missing',
    needles: ['Prefill server failed (CRITICAL) prefill_url=', 'failed (non-critical): '],
    pattern: /Prefill server (?:failed \(CRITICAL\) prefill_url=)?(https?:\/\/[^\s/:]{1,120}(?::\d{1,5})?)/,
    isSign: true,
    says: 'the router does not reach the prefill engine $1: the decode engine waits for KV blocks that do not come',
    why: 'The router sends a request to both engines together. Where the prefill engine does not take it, the decode engine waits until its time for a transfer is over and ends the request with an error.',
    cure: 'See whether the prefill engine at $1 has ended (its log, RESTARTS) and start it again; where it lives, give it in --prefill an address and port that the router reaches, with --host 0.0.0.0 on the engine',
    commands: [REACHED, 'kubectl get pods -o wide    # RESTARTS, and whose address it is'],
    disturbs: 'nothing',
  },
  {
    id: 'smg_decode_unreached',
    cause: 'role_missing',
    needles: ['Decode request failed'],
    pattern:
      /routers?::.{0,200}Decode request failed(?:: | .{0,80}error=).{0,40}error sending request for url \((https?:\/\/[^\s/:)]{1,120}(?::\d{1,5})?)/,
    isSign: true,
    says: 'the router does not reach the decode engine $1, or it ends the connection before its answer',
    why: 'The engine has ended or restarted, nothing listens at that address, or its answer takes longer than --request-timeout-secs.',
    cure: 'See whether the decode engine at $1 has ended (its log, RESTARTS) and start it again; where it lives, give it in --decode an address and port that the router reaches, with --host 0.0.0.0 on the engine, and raise --request-timeout-secs',
    commands: [REACHED, 'kubectl get pods -o wide    # RESTARTS, and whose address it is'],
    disturbs: 'nothing',
  },
  {
    id: 'smg_pd_sides_aborted',
    cause: 'role_missing',
    needles: ['PD request transport error, both sides aborted: '],
    pattern: /both sides aborted: .{0,160}?(https?:\/\/[^\s/:)]{1,120}(?::\d{1,5})?)/,
    isSign: true,
    says: 'the router does not reach one engine of a pair ($1), and has ended the request on both',
    why: 'Prefill and decode engine get a request together. Where one does not take it, the other one has to let it go.',
    cure: 'See whether the engine at $1 has ended (its log, RESTARTS) and start it again; where it lives, give it in --prefill or --decode an address and port that the router reaches, with --host 0.0.0.0 on the engine',
    commands: [REACHED],
    disturbs: 'nothing',
  },
  {
    id: 'smg_bootstrap_port_in_url',
    cause: 'settings_refused',
    needles: ["Invalid value for field 'worker_url'"],
    pattern:
      /Invalid value for field 'worker_url': (https?:\/\/[^\s,]{1,120})[, ]{1,3}(\d{1,5}) - Invalid URL/,
    says: 'the router takes the bootstrap port $2 for a part of the URL $1',
    why: 'A prefill engine is given with two arguments, and both stand in one here.',
    cure: 'Start the router with a blank between the URL and the port: --prefill $1 $2',
    disturbs: 'frontend',
  },
  {
    id: 'smg_value_refused',
    cause: 'settings_refused',
    // As it says it, and as Rust prints it: `Error: InvalidValue { field: "cache_threshold", value: "1.5", reason: "Must be …" }`.
    needles: ["Invalid value for field '", 'InvalidValue { field: '],
    pattern:
      /(?:Invalid value for field '|InvalidValue \{ field: \\?")([a-z][\w.]{1,60})(?:': |\\?", value: \\?")(.{0,60}?)(?: - |\\?", reason: \\?")((?:Must|Port|Host|Invalid|must|port|URL|expected|pool|model|not)\b[^"\\\n]{0,120})/,
    says: 'the router refuses the value of $1, which is $2: $3',
    why: 'The router checks its settings before it does anything else, and does not start.',
    cure: 'Correct $1 of the router: the flag of that name with - for _ (--cache-threshold for cache_threshold, --retry-max-retries for retry.max_retries, --cb-… for circuit_breaker.…); $3',
    disturbs: 'frontend',
  },
  {
    id: 'smg_no_pd_urls',
    cause: 'settings_refused',
    needles: [
      'PD disaggregation mode requires --prefill',
      'PD disaggregation mode requires --decode',
      'PD mode requires at least one prefill worker URL',
      'PD mode requires at least one decode worker URL',
      'Regular mode requires --worker-urls when not',
    ],
    pattern: /(PD (?:disaggregation )?mode|Regular mode) requires (.{5,90})/,
    says: 'the router does not know where its engines are: $1 requires $2',
    why: 'Without service discovery the router knows the engines of its command alone.',
    cure: 'Start the router with --pd-disaggregation --prefill http://PREFILL:PORT BOOTSTRAP_PORT --decode http://DECODE:PORT for a pair, with --worker-urls http://ENGINE:PORT otherwise, or with --service-discovery and the labels of the pods (--prefill-selector, --decode-selector, --selector)',
    disturbs: 'frontend',
  },
  {
    id: 'smg_dp_aware_discovery',
    cause: 'settings_refused',
    needles: ['DP-aware routing is not compatible with service discovery'],
    says: 'the router is to discover pods and to choose data-parallel ranks, which this release does not do together',
    why: 'It learns the ranks of engines that it is given by their addresses alone.',
    cure: 'Start the router without --dp-aware (--router-dp-aware), or without --service-discovery and with --worker-urls; a later sgl-model-gateway or smg has both',
    disturbs: 'frontend',
  },
  {
    id: 'smg_grpc_without_tokenizer',
    cause: 'settings_refused',
    needles: [
      'gRPC connection mode requires either --tokenizer',
      'gRPC mode requires either --tokenizer-path or',
    ],
    says: 'the router is to speak gRPC to its engines, and has no tokenizer',
    why: 'Over gRPC it sends tokens, which it makes itself.',
    cure: 'Start the router with --model-path MODEL (or --tokenizer-path DIR), the same model as its engines, or write them as http://',
    disturbs: 'frontend',
  },
  {
    id: 'smg_policy_of_mode',
    cause: 'settings_refused',
    needles: ['PowerOfTwo policy is only supported in PD', 'policy is not supported in PD'],
    pattern: /(\w{4,30}) policy is (not supported in PD\S{0,20}|only supported in PD\S{0,20})/,
    says: 'the policy $1 of the router is $2 mode, in this release',
    why: 'Routers of 2025 have some policies for one mode alone.',
    cure: 'Start the router with another --policy than that ($1): random is of both modes, power_of_two of PD mode, round_robin of the other one; or run a later sglang-router, which has $1 in both modes (pip install -U sglang-router)',
    disturbs: 'frontend',
  },
  {
    id: 'smg_tokenizer_not_loaded',
    cause: 'prompts_not_scored',
    needles: ["Failed to load tokenizer '"],
    pattern:
      /(?:tokenizer_registration|smg|sgl_model_gateway)\S{0,80}: .{0,120}?Failed to load tokenizer '([^'\s]{1,120})': (.{3,120})/,
    says: 'the router has no tokenizer for $1: $2',
    why: 'It takes the tokenizer of a model from the path that its engines report, or from the hub. Without it requests over gRPC fail, and cache_aware over KV events has nothing to look for.',
    cure: 'Give the router a path that it can read: --tokenizer-path DIR (the files of the model mounted into its pod), or HF_TOKEN and a way to the hub',
    commands: ['kubectl exec ROUTER -- ls -l MODEL_PATH    # tokenizer.json, tokenizer_config.json'],
    disturbs: 'frontend',
  },
];
