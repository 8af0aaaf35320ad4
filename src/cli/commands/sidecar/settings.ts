import { parseAddress } from '../../../edge/platform/address.js';
import type { CommandContext, CommandDescription, WithCommon } from '../../command.js';
import { checkListen } from '../../settings/common-settings.js';
import type { SettingsOf } from '../../settings/setting.js';

/** The settings of `kv-accord sidecar`. */
export const sidecarSettings = {
  engine: {
    kind: 'list',
    item: 'url',
    words: ['auto', 'none'],
    default: ['auto'],
    group: 'Engine',
    help: "Base URL of the engine's HTTP. auto tries the usual local ports; none asks no HTTP: only declared values and the other sources named here count.",
  },
  'engine-kind': {
    kind: 'enum',
    choices: ['auto', 'vllm', 'sglang', 'trtllm', 'dynamo', 'other'],
    default: 'auto',
    group: 'Engine',
    help: "Which engine it is; auto asks it. other is an engine that is not known here: it needs OpenAI's API, and --tokens-per-block and --kv-event-sources or both in the file of --declare.",
  },
  'engine-grpc': {
    kind: 'address',
    use: 'dial',
    group: 'Engine',
    help: "The engine's own gRPC, when it has one.",
  },
  'engine-api-key-file': {
    kind: 'file',
    mustBe: 'file',
    holdsSecret: true,
    group: 'Engine',
    help: "File with the key that the engine's HTTP asks for.",
  },
  'engine-tls-ca': {
    kind: 'file',
    mustBe: 'file',
    group: 'Engine',
    help: "File with the authorities (PEM) that engines' HTTPS certificates are checked against, in place of Node's own list. Followed when it changes.",
  },
  'trtllm-config': {
    kind: 'file',
    group: 'Engine',
    help: "TensorRT-LLM's YAML, read as configuration where the engine itself cannot be asked.",
  },
  'dynamo-file-kv': {
    kind: 'file',
    placeholder: 'DIR',
    dynamo: ['DYN_FILE_KV'],
    group: 'Engine',
    help: "Root folder of Dynamo's file discovery, where the worker leaves its model card.",
  },
  canary: {
    kind: 'enum',
    choices: ['auto', 'off'],
    default: 'auto',
    group: 'Engine',
    help: 'Ask each new engine one small prompt twice, while it is idle by its own metrics, and compare tokens, stored blocks and cached tokens with what is predicted. off sends no prompt.',
  },
  'transfer-probe': {
    kind: 'enum',
    choices: ['auto', 'off'],
    default: 'auto',
    group: 'Engine',
    help: 'Ask the NIXL side channel of each new engine on this machine once what a transfer of KV blocks from it needs, in a form that its version is known to take. off asks none.',
  },
  'probe-interval': {
    kind: 'duration',
    default: '10s',
    min: '100ms',
    max: '1h',
    group: 'Engine',
    help: 'Time between two probes of the engine; 1s until it is ready.',
  },
  'kv-event-sources': {
    kind: 'list',
    item: 'zmq',
    words: ['auto', 'off'],
    default: ['auto'],
    group: 'KV events',
    help: 'Where the engine publishes its KV events, one for each data-parallel rank, in order; an @ in front binds. auto uses the endpoints that the engine reports; off reads none, and then nothing proves the block size.',
  },
  'kv-replay-sources': {
    kind: 'list',
    item: 'zmq',
    group: 'KV events',
    help: 'Where the engine replays old KV events, one for each of --kv-event-sources, in the same order.',
  },
  'trtllm-drain-events': {
    kind: 'boolean',
    group: 'KV events',
    help: 'Read a TensorRT-LLM that publishes no KV events by its draining endpoint. This process must then be the only one that reads it: an event that one reader gets is lost to every other.',
  },
  'worker-id': {
    kind: 'string',
    maxLength: 253,
    defaultHelp: 'pod UID, else host name',
    group: 'Declared values',
    help: 'Name of this worker, the same after restarts.',
  },
  'tokens-per-block': {
    kind: 'integer',
    min: 1,
    max: 1_048_576,
    group: 'Declared values',
    help: 'The block size that the engine should have. Every live source outranks it.',
  },
  model: {
    kind: 'string',
    group: 'Declared values',
    help: 'The model that the engine should serve. Every live source outranks it.',
  },
  role: {
    kind: 'enum',
    choices: ['aggregated', 'prefill', 'decode'],
    group: 'Declared values',
    help: 'Which part of a request the engine computes, where it cannot say. Every live source outranks it.',
  },
  'advertise-engine': {
    kind: 'list',
    item: 'url',
    group: 'Declared values',
    help: "Base URL by which others reach the engine's HTTP, when it is not the one that the sidecar asks; /v1/… is appended to it. No source outranks it.",
  },
  'side-channel': {
    kind: 'list',
    item: 'target',
    placeholder: 'HOST:PORT,…',
    group: 'Declared values',
    defaultHelp: 'VLLM_NIXL_SIDE_CHANNEL_HOST and …_PORT, where the sidecar has them too',
    help: 'HOST:PORT at which other engines ask this one for what a transfer of KV blocks needs, one for each data-parallel rank, in order. What the engine says of it outranks it.',
  },
  declare: {
    kind: 'file',
    mustBe: 'file',
    group: 'Declared values',
    help: 'YAML or JSON file with declared values.',
  },
  topology: {
    kind: 'file',
    mustBe: 'file',
    words: ['auto', 'off'],
    default: 'auto',
    group: 'Topology',
    help: 'Read the GPUs of this host, or none, or a recorded topology.',
  },
  'engine-devices': {
    kind: 'file',
    group: 'Topology',
    help: "File in which the engine's container says which GPUs it has: what nvidia-smi -L prints there, or lines such as NVIDIA_VISIBLE_DEVICES=….",
  },
  'host-root': {
    kind: 'file',
    mustBe: 'folder',
    placeholder: 'DIR',
    default: '/',
    group: 'Topology',
    help: "Where the host's files are, when they are mounted elsewhere.",
  },
  'node-name': {
    kind: 'string',
    group: 'Topology',
    defaultHelp: 'NODE_NAME, as the downward API gives it',
    help: 'The node that the worker runs on.',
  },
  zone: {
    kind: 'string',
    group: 'Topology',
    defaultHelp: "from the pod's topology labels, where they are mounted",
    help: 'The zone that the worker runs in.',
  },
  rack: {
    kind: 'string',
    group: 'Topology',
    defaultHelp: "from the pod's topology labels, where they are mounted",
    help: 'The rack that the worker runs in.',
  },
  listen: {
    kind: 'address',
    use: 'listen',
    default: '127.0.0.1:50061',
    group: 'Serving',
    help: 'Where gRPC is served.',
  },
  'http-listen': {
    kind: 'address',
    use: 'listen',
    default: '127.0.0.1:9464',
    group: 'Serving',
    help: 'Where probes, metrics and the status page are served.',
  },
  'drain-timeout': {
    kind: 'duration',
    default: '10s',
    max: '1h',
    group: 'Serving',
    help: 'Longest time between SIGTERM and the end of the process.',
  },
} as const;

type Settings = SettingsOf<WithCommon<typeof sidecarSettings>>;
type Reject = CommandContext<typeof sidecarSettings>['reject'];

/** Checks that the settings of KV events make sense together. */
function checkEvents(settings: Settings, reject: Reject): void {
  const { kvEventSources, kvReplaySources, trtllmDrainEvents } = settings;
  const [word] = kvEventSources;
  const isNamed = word !== 'auto' && word !== 'off';
  const twice = kvEventSources.find((source, index) => kvEventSources.indexOf(source) !== index);
  if (twice !== undefined) throw reject('kv-event-sources', 'a list that names each source once', twice);
  if (trtllmDrainEvents && word !== 'auto') {
    throw reject('trtllm-drain-events', 'left out unless --kv-event-sources is auto', 'true');
  }
  if (kvReplaySources.length === 0) return;
  if (!isNamed) {
    throw reject(
      'kv-replay-sources',
      `left out while --kv-event-sources is ${word}: the engine names its own`,
    );
  }
  const bound = kvReplaySources.find((source) => source.startsWith('@'));
  if (bound !== undefined) {
    throw reject('kv-replay-sources', 'without @: a replay socket is bound by the engine', bound);
  }
  if (kvReplaySources.length !== kvEventSources.length) {
    throw reject('kv-replay-sources', `as many as --kv-event-sources: ${kvEventSources.length}`);
  }
}

/** A side channel is something to connect to. */
function checkSideChannels({ sideChannel }: Settings, reject: Reject): void {
  for (const text of sideChannel) {
    const address = parseAddress(text);
    if (address?.type !== 'tcp' || address.port === 0) throw reject('side-channel', 'HOST:PORT', text);
  }
}

/** An address for everybody has a port, and no part of the paths that follow it. */
function checkAdvertised({ advertiseEngine }: Settings, reject: Reject): void {
  for (const text of advertiseEngine) {
    const { port, pathname } = new URL(text);
    if (port === '0') throw reject('advertise-engine', 'with a port from 1 to 65535', text);
    if (/\/v1$/.test(pathname)) {
      throw reject('advertise-engine', 'without /v1 at its end: /v1/… is appended to it', text);
    }
  }
}

/** `kv-accord sidecar`. */
export const sidecarDescription: CommandDescription<typeof sidecarSettings> = {
  name: 'sidecar',
  summary: 'Beside a worker: read the running engine and report what it really uses',
  description:
    'Asks the engine beside it what it really uses (tokens per KV block, model, parallelism, GPUs) and serves that over gRPC with the evidence for each value.',
  settings: sidecarSettings,
  isServer: true,
  examples: [
    { says: 'Find the engine on the usual local ports', line: 'kv-accord sidecar' },
    {
      says: 'One vLLM, by HTTP and by its own gRPC',
      line: 'kv-accord sidecar --engine http://127.0.0.1:8000 --engine-grpc 127.0.0.1:50051',
    },
    {
      says: 'Ask what it found',
      line: 'grpcurl -plaintext 127.0.0.1:50061 kvaccord.v1.Capabilities/GetCapabilities',
    },
  ],
  check(settings, reject) {
    checkListen(settings, reject);
    checkEvents(settings, reject);
    checkAdvertised(settings, reject);
    checkSideChannels(settings, reject);
  },
};
