import type { SettingError } from '../../app/setting-error.js';
import { type Address, isLoopback, parseAddress } from '../../edge/platform/address.js';
import { kubeSettings } from './kube-settings.js';

const ownSettings = {
  workers: {
    kind: 'list',
    item: 'target',
    group: 'Fleet',
    help: "Sidecars: HOST:PORT, unix:/path, dns:///NAME:PORT for every address behind a name, k8s://NAMESPACE/SERVICE:PORT for a Service's endpoints, k8s://NAMESPACE?selector=LABEL=VALUE for pods, pool://NAMESPACE/NAME for an InferencePool's. Without sidecars: dynamo-file:///DIR, dynamo-k8s://NAMESPACE.",
  },
  'workers-file': {
    kind: 'file',
    mustBe: 'file',
    group: 'Fleet',
    help: 'YAML or JSON list of sidecars; watched for changes.',
  },
  'dynamo-graph': {
    kind: 'string',
    group: 'Fleet',
    placeholder: '[NAMESPACE/]NAME',
    maxLength: 127,
    help: "The engines' pods of this DynamoGraphDeployment, with sidecars on port 50061.",
  },
  pool: {
    kind: 'string',
    group: 'Fleet',
    placeholder: '[NAMESPACE/]NAME',
    maxLength: 317,
    help: 'The pods of this InferencePool, with sidecars on port 50061 (a pod with a sidecar for each target port: on those that follow).',
  },
  'min-workers': {
    kind: 'integer',
    min: 1,
    max: 100_000,
    words: ['auto'],
    default: 1,
    group: 'Fleet',
    help: 'Number of workers that must have reported before anything is agreed; auto: as many as the Kubernetes workloads behind them should have.',
  },
  'on-missing': {
    kind: 'enum',
    choices: ['quorum', 'wait', 'proceed'],
    default: 'quorum',
    group: 'Fleet',
    help: 'Whether to open the gate without workers that do not report: quorum once at least half have, wait never, proceed with any number.',
  },
  'collect-timeout': {
    kind: 'duration',
    default: '60s',
    min: '1s',
    group: 'Fleet',
    help: 'How long to wait for missing workers: quorum counts from the last worker that joined, proceed from the first that was listed.',
  },
  settle: {
    kind: 'duration',
    default: '2s',
    max: '1h',
    group: 'Fleet',
    help: 'How long the fleet must have been unchanged.',
  },
  grace: {
    kind: 'duration',
    default: '30s',
    max: '1h',
    group: 'Fleet',
    help: 'How long a lost worker keeps its place, because it may return.',
  },
  'kv-cache-block-size': {
    kind: 'integer',
    min: 1,
    max: 1_048_576,
    dynamo: ['DYN_KV_CACHE_BLOCK_SIZE'],
    group: 'Agreement',
    help: 'Use this block size whatever the workers report. Leave it out to use theirs.',
  },
  'token-probes': {
    kind: 'enum',
    choices: ['require', 'ignore'],
    default: 'require',
    group: 'Agreement',
    help: 'Workers that make different tokens from the same prompts (another tokenizer or chat template): keep them out as dissenting, or ignore the difference with a warning and without exact predictions.',
  },
  'pair-policy': {
    kind: 'enum',
    choices: ['require', 'warn', 'report'],
    default: 'warn',
    group: 'Agreement',
    help: 'Pairs of prefill and decode workers that may be used: require those that are known to work, warn also those of which that cannot be said, report all. With report the gate does not wait for pairs.',
  },
  'mismatched-workers': {
    kind: 'enum',
    choices: ['quarantine', 'load-only'],
    defaultHelp: 'quarantine; load-only with --kv-cache-block-size',
    group: 'Agreement',
    help: 'Whether workers that differ get no requests, or requests that are routed without knowledge of their cache.',
  },
  topology: {
    kind: 'enum',
    choices: ['report', 'warn', 'require'],
    default: 'warn',
    group: 'Agreement',
    help: 'What to do when parallelism or GPU products differ.',
  },
} as const;

/** How a fleet is found and how it agrees: the same for every command that collects reports. */
export const collectionSettings: typeof ownSettings & typeof kubeSettings = {
  ...ownSettings,
  ...kubeSettings,
};

interface FleetSettings {
  readonly workers: readonly string[];
  readonly workersFile: string | undefined;
  readonly dynamoGraph: string | undefined;
  readonly pool: string | undefined;
  readonly aggregator?: Address | undefined;
  readonly tlsCert: string | undefined;
  readonly tlsCa: string | undefined;
  readonly insecure: boolean;
}

type FleetSetting = 'workers' | 'workers-file' | 'dynamo-graph' | 'pool';
type Reject<Name extends string> = (name: Name, allowed: string, value?: string) => SettingError;

/** Checks that there is exactly one way to the fleet, and that it is allowed. */
export function checkFleet(settings: FleetSettings, reject: Reject<FleetSetting>): void {
  const hasList = settings.workers.length > 0;
  const hasFile = settings.workersFile !== undefined;
  const hasAggregator = settings.aggregator !== undefined;
  const hasGraph = settings.dynamoGraph !== undefined;
  if (hasList && hasFile) throw reject('workers-file', 'left out when --workers is given');
  const hasPool = settings.pool !== undefined;
  if (hasAggregator && hasPool) throw reject('pool', 'left out when --aggregator is asked');
  if (hasAggregator && hasGraph) throw reject('dynamo-graph', 'left out when --aggregator is asked');
  if (hasAggregator && hasList) throw reject('workers', 'left out when --aggregator is asked');
  if (hasAggregator && hasFile) throw reject('workers-file', 'left out when --aggregator is asked');
  if (!hasList && !hasFile && !hasGraph && !hasPool && !hasAggregator) {
    const others =
      'aggregator' in settings
        ? '--pool, --workers-file, --dynamo-graph or --aggregator'
        : '--pool, --workers-file or --dynamo-graph';
    throw reject('workers', `given, such as HOST:50061,… or dns:///NAME:50061; or ${others}`);
  }
  if (isSecured(settings)) return;
  for (const text of settings.workers) {
    // What is behind a name is known only later, and checked then.
    const address = parseAddress(text);
    if (address !== undefined && !isLoopback(address)) throw reject('workers', LOOPBACK_OR_TLS, text);
  }
}

/** What an address to dial must be, where plaintext would leave this machine and that was not asked for. */
export function checkDialled(
  address: Address | undefined,
  settings: Pick<FleetSettings, 'tlsCert' | 'tlsCa' | 'insecure'>,
): string | undefined {
  return address === undefined || isLoopback(address) || isSecured(settings) ? undefined : LOOPBACK_OR_TLS;
}

const LOOPBACK_OR_TLS =
  'on this machine, unless there is --tls-ca (and --tls-cert with --tls-key, where they are asked for), or --insecure for plaintext';

/** Plaintext beyond this machine must be asked for; TLS need not be. */
function isSecured({
  tlsCert,
  tlsCa,
  insecure,
}: Pick<FleetSettings, 'tlsCert' | 'tlsCa' | 'insecure'>): boolean {
  return tlsCert !== undefined || tlsCa !== undefined || insecure;
}
