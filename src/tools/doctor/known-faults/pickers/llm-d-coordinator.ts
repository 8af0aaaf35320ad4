import type { KnownFault } from '../known-fault.js';

/** llm-d's coordinator (0.10), which sends a request through render, encode, prefill and decode. */
export const LLM_D_COORDINATOR: readonly KnownFault[] = [
  {
    id: 'coordinator_render_address',
    cause: 'settings_refused',
    needles: ['render: service address not configured'],
    says: "llm-d's coordinator has no address of a render service",
    why: 'Its step render makes tokens of prompts at ADDRESS/v1/…/render; without the address each request ends with 502.',
    cure: 'Set params: { address: http://RENDER:8000 } of the step render in the configuration of the coordinator (vllm launch render MODEL)',
    disturbs: 'frontend',
  },
  {
    id: 'coordinator_render_step',
    cause: 'settings_refused',
    needles: ['pipeline.use_openai_format=false requires a'],
    says: "llm-d's coordinator is to send tokens, and has no step that makes them",
    why: 'With use_openai_format: false prefill and decode get token ids, which the step render makes.',
    cure: 'Add { type: render, params: { address: http://RENDER:8000 } } as the first of pipeline.steps, or set use_openai_format: true',
    disturbs: 'frontend',
  },
  {
    id: 'coordinator_step_unknown',
    cause: 'settings_refused',
    needles: ['unknown step type: '],
    pattern: /unknown step type: ([\w.-]{1,60})/,
    says: "llm-d's coordinator does not know the step $1",
    why: 'Steps are render, replace-media-urls, encode, prefill, decode and conditional-decode; with another one it ends at its start.',
    cure: 'Correct type: $1 under pipeline.steps of the configuration of the coordinator',
    disturbs: 'frontend',
  },
  {
    id: 'coordinator_connector_unknown',
    cause: 'settings_refused',
    needles: ['unknown kv_connector: ', 'unknown ec_connector: '],
    pattern: /unknown (?:kv|ec)_connector: \\{0,3}"([\w.-]{1,60})/,
    says: "llm-d's coordinator does not know the connector $1",
    why: 'It shapes requests to prefill and decode by the connector: nixlv2, shared-storage or sglang (ec-nixl or ec-example for encoders). With another one it ends at its start.',
    cure: 'Set kv_connector: nixlv2 (shared-storage, sglang) under pipeline of the coordinator, as --kv-transfer-config of the engines has it',
    disturbs: 'frontend',
  },
  {
    id: 'coordinator_upstream',
    cause: 'transfers_fail',
    needles: ['upstream returned HTTP 5'],
    pattern: /step \\{0,3}"([\w-]{1,40})\\{0,3}" failed: .{0,80}upstream returned HTTP (5\d\d)/,
    atLeast: 2,
    says: "llm-d's coordinator: the step $1 fails, as its gateway or engines answer $2",
    why: 'The step sends the request through the gateway to pods of its role. 503 means that the picker has none of that role, other 5xx that the engine failed.',
    cure: 'Bring pods of that role to ready (label llm-d.ai/role), and read the log of the endpoint picker and of the pod at that time',
    commands: ['kubectl get pods -L llm-d.ai/role'],
  },
];
