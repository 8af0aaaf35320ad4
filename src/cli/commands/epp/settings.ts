import type { CommandDescription } from '../../command.js';
import { checkEngineSettings } from '../../settings/engine-settings.js';
import { aggregatorDescription, aggregatorSettings } from '../aggregator/settings.js';
import { frontendSettings } from '../frontend/settings.js';

const ownSettings = {
  'ext-proc-listen': {
    kind: 'address',
    use: 'listen',
    default: '127.0.0.1:9002',
    group: 'Endpoint Picker',
    help: "Where gateways ask: Envoy's ext_proc over gRPC. With TLS, by --tls-cert or else a certificate of its own that is made at the start.",
  },
  'secure-serving': {
    kind: 'enum',
    choices: ['true', 'false'],
    default: 'true',
    group: 'Endpoint Picker',
    help: 'Whether --ext-proc-listen speaks TLS. Gateways of the Inference Extension expect it, and do not check whose certificate it is.',
  },
  'health-listen': {
    kind: 'address',
    use: 'listen',
    default: '127.0.0.1:9003',
    group: 'Endpoint Picker',
    help: "gRPC health in plaintext, for the kubelet's probes. It says SERVING also while a gate is shut: requests are then answered with the reason.",
  },
  shadow: {
    kind: 'boolean',
    group: 'Endpoint Picker',
    help: 'Only watch: decide and count, and change nothing, beside another picker or none.',
  },
  'model-rewrite': {
    kind: 'list',
    item: 'model',
    placeholder: 'NAME=NAME,…',
    group: 'Endpoint Picker',
    help: 'Names of models that are replaced in request bodies: ASKED=SERVED. Bodies are sent on unchanged otherwise.',
  },
  'fallback-endpoints': {
    kind: 'integer',
    min: 0,
    max: 16,
    default: 2,
    group: 'Endpoint Picker',
    help: 'Endpoints that are named beside the first one, in order, for a gateway that tries the next when one fails.',
  },
  'max-requests': {
    kind: 'integer',
    min: 1,
    max: 1_000_000,
    default: 16_384,
    group: 'Endpoint Picker',
    help: 'Requests at a time, from the headers to the end of the answer; further ones are refused with status 503.',
  },
  'max-requests-per-worker': {
    kind: 'integer',
    min: 1,
    max: 1_000_000,
    default: 1_024,
    group: 'Endpoint Picker',
    help: 'Requests at a time to one worker. When every worker has as many, further ones are refused with status 429; lower priorities earlier.',
  },
  'http-body-limit': {
    kind: 'size',
    default: '32MiB',
    min: '1KiB',
    max: '1GiB',
    group: 'Endpoint Picker',
    help: 'Longest body of a request. Images stand in it. All bodies together take at most sixteen times as much memory.',
  },
  'drain-timeout': {
    kind: 'duration',
    default: '30s',
    max: '1h',
    group: 'Endpoint Picker',
    help: 'How long requests may go on after the process was asked to end; new ones are refused meanwhile.',
  },
} as const;

type Shared = Pick<
  typeof frontendSettings,
  | 'engine-api-key-file'
  | 'engine-key-hosts'
  | 'engine-tls-ca'
  | 'request-timeout'
  | 'session-affinity'
  | 'tokenize-timeout'
  | 'tokenizer'
  | 'worker-urls'
>;

/** What is read of requests and asked of engines, as a frontend does. */
const sharedSettings: Shared = {
  'worker-urls': frontendSettings['worker-urls'],
  'engine-api-key-file': frontendSettings['engine-api-key-file'],
  'engine-key-hosts': frontendSettings['engine-key-hosts'],
  'engine-tls-ca': frontendSettings['engine-tls-ca'],
  tokenizer: frontendSettings.tokenizer,
  'tokenize-timeout': frontendSettings['tokenize-timeout'],
  'session-affinity': frontendSettings['session-affinity'],
  'request-timeout': frontendSettings['request-timeout'],
};

/** The settings of `kv-accord epp`. */
export const eppSettings: typeof aggregatorSettings & typeof ownSettings & Shared = {
  ...aggregatorSettings,
  ...ownSettings,
  ...sharedSettings,
};

/** `kv-accord epp`. */
export const eppDescription: CommandDescription<typeof eppSettings> = {
  name: 'epp',
  summary: "Behind a Kubernetes Gateway: an Endpoint Picker over Envoy's ext_proc, with gate and index",
  description:
    'Everything that the aggregator does, and an Endpoint Picker of the Gateway API Inference Extension: a gateway asks it where each request goes. No request is let through before the gate of its model is open.',
  settings: eppSettings,
  isServer: true,
  examples: [
    {
      says: 'The pods of an InferencePool',
      line: 'kv-accord epp --pool inference/llama --ext-proc-listen 0.0.0.0:9002 --health-listen 0.0.0.0:9003 --insecure',
    },
    {
      says: 'Two engines with their sidecars, for an Envoy without TLS',
      line: 'kv-accord epp --workers 127.0.0.1:50061,127.0.0.1:50062 --secure-serving=false',
    },
    {
      says: 'Beside the picker that one has, to see where requests would go',
      line: 'kv-accord epp --pool inference/llama --shadow --insecure',
    },
    { says: 'Is the gate open, and if not, why?', line: "curl '127.0.0.1:9463/readyz?verbose'" },
  ],
  check(settings, reject, flags) {
    aggregatorDescription.check?.(settings, reject, flags);
    checkEngineSettings(settings, reject);
    const wrong = settings.modelRewrite.find((item) => !/^[^=]+=[^=]+$/.test(item));
    if (wrong !== undefined) throw reject('model-rewrite', 'pairs such as chat=llama-3-70b', wrong);
    const asked = settings.modelRewrite.map((item) => item.slice(0, item.indexOf('=')));
    const again = asked.findIndex((name, at) => asked.indexOf(name) < at);
    if (again !== -1)
      throw reject('model-rewrite', 'one pair for each name that is asked for', settings.modelRewrite[again]);
  },
};
