import type { ProposedFix } from '../diagnosis.js';
import type { Measurements } from '../measurements/measurements.js';
import { type BootstrapAddress, repairedAddress } from './bootstrap-address.js';
import { argumentsOf, environmentOf } from './lines.js';
import { reachWorkers, rolesOfRouter } from './routers.js';
import { statusCommand } from './status-command.js';

/** Where to look whether KV blocks move. */
const CHECKS: readonly string[] = [
  "curl -s http://DECODE:8000/metrics | grep 'prompt_tokens_by_source_total{.*external_kv_transfer'    # should grow by the prompt of each divided request",
  'curl -s http://DECODE:8000/metrics | grep nixl_num_failed_transfers_total    # should stand still',
];

const FLAGS: ReadonlyMap<string, string> = new Map([
  ['dtype', '--dtype bfloat16'],
  ['KV cache dtype', '--kv-cache-dtype auto'],
  ['attention backend', '--attention-backend NAME'],
  ['connector', '--kv-transfer-config \'{"kv_connector":"NixlConnector",…}\''],
  ['page size', '--page-size N'],
  ['block size', '--block-size N'],
  ['tensor parallel size', '--tensor-parallel-size N'],
]);

/** Gives both roles the same of what they differ in. */
export function samePairFixes({ seen }: Measurements, field: string): readonly ProposedFix[] {
  const name = field.split(':')[0] ?? field;
  const flag = FLAGS.get(name);
  const multiple = multipleOf(field);
  const [engine] = seen.engines;
  const program = `each ${engine?.launch === undefined ? '' : `${engine.displayName} `}engine of both roles`;
  const compare =
    'kubectl logs POD | grep -m2 -E "non-default args|server_args=|LLM engine \\(v"    # of a prefill and of a decode pod: what differs';
  return [
    {
      says:
        name === 'version'
          ? 'Run the same version of the engine on both roles (kubectl get pods -o wide shows the images)'
          : flag === undefined
            ? `Compare what a prefill and a decode pod were started with (kubectl logs POD | grep "non-default args"), and give both the same`
            : `Start the engines of both roles with the same ${flag.split(' ')[0]}${multiple?.says ?? ''}`,
      why: `${multiple?.why ?? ''}Engines compare versions, model, dtype, KV cache dtype, attention backend and the shape of the blocks before the first transfer${flag === undefined ? '; the hash that is in the line says that one differs, not which' : ''}. Only the engines of one role have to restart.`,
      disturbs: 'one_worker_at_a_time',
      files: [],
      commands: flag === undefined ? [compare] : [argumentsOf(program, multiple?.flag ?? flag), compare],
      verify: [
        'kubectl logs DECODE --since=5m | grep -cE "compatibility hash mismatch|[Mm]ismatch|not divisible by remote"    # should be 0',
        ...CHECKS,
      ],
    },
  ];
}

/** Block sizes of vLLM's NIXL: what the decode engine has must be a multiple of what the prefill engine has. */
function multipleOf(
  field: string,
): { readonly says: string; readonly why: string; readonly flag: string } | undefined {
  const [, here, there] = /^block size: (\d+) here, (\d+) there$/.exec(field) ?? [];
  if (here === undefined || there === undefined) return undefined;
  return {
    says: ` (${there} on decode, or ${here} on prefill: that of decode must be a multiple of that of prefill), and with the same --tensor-parallel-size where the model is a hybrid one; the router's block size follows`,
    why: `The decode engine has ${here} and the prefill engine ${there}: one block of decode takes whole blocks of prefill, and never a part of one. In a hybrid model the size follows from the attention backend and the tensor-parallel size, so that the same flag alone may not be enough. `,
    flag: `--block-size ${there}`,
  };
}

/** Lets decode engines reach the side channel of NIXL, or another engine's bootstrap server. */
export function reachSideChannel(
  { seen }: Measurements,
  where: 'side_channel' | 'bootstrap' | 'another_engine',
  address?: BootstrapAddress,
): ProposedFix {
  const host = isVllm(seen) ? 'VLLM_NIXL_SIDE_CHANNEL_HOST' : undefined;
  const port = address?.port ?? (where === 'bootstrap' ? 8998 : 5600);
  const [general, why] = reaching(where, host);
  const says = (address === undefined ? undefined : repairedAddress(address)) ?? general;
  return {
    says,
    why,
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      ...(where === 'bootstrap' || host === undefined
        ? []
        : [environmentOf('each engine', host, 'status.podIP by the downward API')]),
      `kubectl exec DECODE -- python3 -c "import socket; socket.create_connection(('${address?.host ?? 'PREFILL_IP'}', ${port}), 3); print('reached')"    # connects and sends nothing: a message of another form may end what listens there`,
    ],
    verify: [
      'kubectl logs DECODE --since=5m | grep -cE "zmq.error.Again|engine ID mismatch|bootstrap"    # should be 0',
      ...CHECKS,
    ],
  };
}

function reaching(
  where: Parameters<typeof reachSideChannel>[1],
  host: string | undefined,
): readonly [says: string, why: string] {
  if (where === 'bootstrap')
    return [
      'Open the bootstrap port of prefill pods (8998 by default) to decode pods, in the pod and by NetworkPolicy, and give the router the same port',
      'The prefill engine registers there, and the router hands its address to the decode engine. Nothing is wrong if the prefill pod has just restarted and the lines have ended.',
    ];
  const setting = host === undefined ? "the pod's address as its host" : `${host}=POD_IP`;
  if (where === 'another_engine')
    return [
      `Give each engine a side channel of its own in its pod (kubectl edit): ${setting}, and a port that no other engine of the host has`,
      'The address that the prefill engine hands out leads to another engine: the host is not set (localhost by default), or two engines of one host have the same port.',
    ];
  return [
    `Give the side channel of each prefill engine ${setting}, and open its port (5600, one more for each data-parallel rank) to decode pods, in the pod and by NetworkPolicy`,
    'By default localhost is handed out as the host, which is right on one host alone. Nothing is wrong if the prefill pod has just restarted and the lines have ended.',
  ];
}

/** A listener that has ended comes back with its engine alone. */
export function reviveListener({ seen }: Measurements, isPort: boolean): readonly ProposedFix[] {
  if (isPort)
    return [
      {
        says: `Give each engine on a host a side-channel port of its own${isVllm(seen) ? ': VLLM_NIXL_SIDE_CHANNEL_PORT=5700' : ' (kubectl edit)'} for the second, where the first has 5600`,
        why: 'Another process listens there already. With data parallelism each rank takes the next port.',
        disturbs: 'one_worker_at_a_time',
        files: [],
        commands: isVllm(seen)
          ? [environmentOf('the second engine on the host', 'VLLM_NIXL_SIDE_CHANNEL_PORT=5700')]
          : [],
        verify: CHECKS,
      },
    ];
  return [
    {
      says: 'Restart the prefill engine (kubectl delete pod), and let nothing but decode engines of its version reach its side channel',
      why: 'The thread does not come back by itself. What sent it a message of another form (a decode engine of another version, a port scan, a probe on port 5600) will end it again: keep the port from everybody else by a NetworkPolicy, and let no health check connect to it.',
      disturbs: 'one_worker_at_a_time',
      files: [],
      commands: [
        'kubectl logs PREFILL | grep -B 8 "msgpack.decode(msg)"    # when it ended',
        'kubectl delete pod PREFILL',
      ],
      verify: CHECKS,
    },
  ];
}

/** Brings up the role that is missing. */
export function startRole({ seen, signal }: Measurements, role: string): ProposedFix {
  const said = signal('role_missing')?.first.text ?? '';
  if (role === 'any' && said.includes('all circuits open')) return reachWorkers();
  if (role === 'any')
    return {
      says: 'Give the router the labels and the port of engines that are ready: kubectl get pods --show-labels',
      why: 'The readiness of the pods comes first. Then the labels by which the router selects them, the port that it asks, and the name of the model: an engine under another name is none for the request.',
      disturbs: 'nothing',
      files: [],
      commands: [
        'kubectl get pods --show-labels    # ready, and with the labels that the router selects',
        'curl -s http://ENGINE:PORT/v1/models    # the name under which the model is served',
      ],
      verify: [
        'kubectl logs ROUTER --since=5m | grep -ciE "no (ready|available|endpoints|instances)"    # should be 0',
      ],
    };
  const ofRouter = rolesOfRouter(said, role);
  if (ofRouter !== undefined) return ofRouter;
  const label = role === 'prefill' || role === 'decode' ? role : 'prefill, and one of role decode,';
  return {
    says: `Start an engine of role ${label} that gets ready: kubectl get pods -l llm-d.ai/role=${role === 'decode' ? 'decode' : 'prefill'} shows those that do not`,
    why: 'Look at the readiness of the pods first, then at the labels and ports by which the router finds them. With several replicas of one role, one that serves is enough.',
    disturbs: 'nothing',
    files: [],
    commands: [
      'kubectl get pods -L llm-d.ai/role -L app',
      'kubectl describe pod POD | tail -n 20    # why it is not ready',
    ],
    verify: [
      ...(seen.kvAccord ? [`${statusCommand(seen)}    # each role should have a worker`] : []),
      ...CHECKS,
    ],
  };
}

/** Gives an engine of a pair the connector that it was started without. */
export function giveConnector(): ProposedFix {
  return {
    says: 'Start the engines of both roles with a connector: --kv-transfer-config \'{"kv_connector":"NixlConnector","kv_role":"kv_producer"}\', and kv_consumer for decode',
    why: 'The router divides requests, and the engine has nothing that sends or fetches blocks: each prompt is computed twice, and every answer is right.',
    disturbs: 'all_workers',
    files: [],
    commands: [
      argumentsOf(
        'each prefill engine',
        `--kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_producer"}'`,
      ),
    ],
    verify: CHECKS,
  };
}

/** Hands the parameters of a transfer on. */
export function handOver(): ProposedFix {
  return {
    says: "Send one divided request by hand (http://PREFILL:8000): the prefill engine's answer must have kv_transfer_params, and the request to the decode engine the same",
    why: 'The prefill engine needs `do_remote_decode: true` and answers with what the decode engine needs; a proxy that drops it, an API that does not pass it on, or a connector that the engine was started without leaves the decode engine nothing to fetch.',
    disturbs: 'nothing',
    files: [],
    commands: [
      'curl -s http://PREFILL:8000/v1/completions --json \'{"model":"MODEL","prompt":"A long prompt","max_tokens":1,"kv_transfer_params":{"do_remote_decode":true,"do_remote_prefill":false}}\'    # kv_transfer_params with remote_block_ids',
      'curl -s http://PREFILL:8000/metrics | grep -c nixl_    # 0: started without the connector',
    ],
    verify: CHECKS,
  };
}

/** Keeps blocks long enough, and fetches them in time. */
export function longerLease(isLate: boolean): readonly ProposedFix[] {
  const [more, longer] = [moreDecode(), longerWait(isLate)];
  return isLate ? [longer, more] : [more, longer];
}

function moreDecode(): ProposedFix {
  return {
    says: 'Add decode engines, or admit fewer requests: kubectl scale deployment DECODE, --max-concurrency of the router',
    why: 'Blocks expire mostly because decode engines are full, and a divided request waits there longer than the lease. num_requests_waiting of the decode engines shows it.',
    disturbs: 'nothing',
    files: [],
    commands: ['curl -s http://DECODE:8000/metrics | grep -E "num_requests_waiting|kv_cache_usage_perc"'],
    verify: [
      'curl -s http://PREFILL:8000/metrics | grep -E "nixl_num_kv_expired_reqs_total|notifications_after_expiry"    # should stand still',
    ],
  };
}

function longerWait(isLate: boolean): ProposedFix {
  // Only vLLM says that blocks were fetched too late.
  const older = isLate ? ' (VLLM_NIXL_ABORT_REQUEST_TIMEOUT=960 in versions where it is 480 s)' : '';
  return {
    says: `Start prefill engines with a longer lease: "kv_connector_extra_config": {"kv_lease_duration": 300} in --kv-transfer-config${older}`,
    why: 'Blocks that are fetched after their lease may be those of another prompt. It costs memory of the prefill engine: a client that has gone away keeps its blocks as long. In older versions it is a variable of the environment, and 480 s by default.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      argumentsOf(
        'each prefill engine',
        '--kv-transfer-config \'{"kv_connector":"NixlConnector","kv_role":"kv_producer","kv_connector_extra_config":{"kv_lease_duration":300}}\'',
      ),
    ],
    verify: [
      'kubectl logs PREFILL --since=10m | grep -cE "expired KV blocks|Potentially invalid KV blocks"    # should be 0',
    ],
  };
}

/** Lets UCX take NVLink. */
export function fasterPath(): ProposedFix {
  return {
    says: 'Set UCX_TLS=cuda_ipc,cuda_copy,rc,tcp,self on both engines, in pods that share their IPC namespace and see both GPUs',
    why: 'Within one host NVLink is used by cuda_ipc alone. UCX_PROTO_INFO=y makes an engine print at its start of the first transfer which path it takes. Where the two engines have no NVLink between them after all, nothing is wrong.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      environmentOf('each engine', 'UCX_TLS=cuda_ipc,cuda_copy,rc,tcp,self UCX_PROTO_INFO=y'),
      'nvidia-smi topo -m    # NV between the two GPUs',
    ],
    verify: [
      'kubectl logs DECODE | grep -m3 -E "intra-node cfg#|remote memory"    # cuda_ipc, and not tcp',
      'curl -s http://DECODE:8000/metrics | grep -E "nixl_(bytes_transferred|xfer_time_seconds)_sum"    # bytes by seconds: above 10 GB/s',
    ],
  };
}

function isVllm({ engines }: Measurements['seen']): boolean {
  return engines.some(({ word }) => word === 'vllm');
}
