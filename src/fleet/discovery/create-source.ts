import { CombinedSource } from './combined.js';
import { DiscoveryError } from './discovery-error.js';
import type { DiscoveryModules, DiscoveryOptions } from './discovery-options.js';
import { DnsSource } from './dns.js';
import { DynamoFileSource } from './dynamo-file.js';
import { FileSource } from './file.js';
import { type ClusterTarget, parseGraphTarget, parsePoolSetting } from './kubernetes/parse-cluster-target.js';
import { parseTargets, type Target } from './parse-target.js';
import type { DiscoverySource } from './source.js';
import { StaticSource } from './static.js';

/**
 * Makes the one source of a fleet out of what an operator wrote. Rejects with a
 * `DiscoveryError` that names the setting when it is wrong; nothing has been
 * started then. What asks a cluster is loaded only when it is needed.
 */
export async function createDiscoverySource(
  options: DiscoveryOptions,
  modules: DiscoveryModules,
): Promise<DiscoverySource> {
  const targets = [
    ...underName('--workers', () => parseTargets(options.workers)),
    ...underName('--dynamo-graph', () =>
      options.dynamoGraph === undefined ? [] : [parseGraphTarget(options.dynamoGraph)],
    ),
    ...underName('--pool', () => (options.pool === undefined ? [] : [parsePoolSetting(options.pool)])),
  ];
  if (options.countsExpected === true) checkCountable(targets, options);
  const addresses = targets.flatMap((target) => (target.type === 'address' ? [target.address] : []));
  const sources: DiscoverySource[] = [];
  if (addresses.length > 0) sources.push(new StaticSource({ addresses }));
  const clusterTargets: ClusterTarget[] = [];
  for (const target of targets) {
    if (target.type === 'dns') sources.push(new DnsSource(target, modules));
    else if (target.type === 'dynamo-file') sources.push(new DynamoFileSource(target, modules));
    else if (target.type !== 'address') clusterTargets.push(target);
  }
  if (clusterTargets.length > 0) {
    const { openClusterSources } = await import('./kubernetes/cluster-sources.js');
    sources.push(...(await openClusterSources(clusterTargets, options, modules)));
  }
  if (options.workersFile !== undefined)
    sources.push(new FileSource({ path: options.workersFile }, { clock: modules.clock }));
  const [only] = sources;
  return sources.length === 1 && only !== undefined ? only : new CombinedSource({ sources });
}

/** What lists pods, and so leads to their workloads. */
const COUNTABLE: ReadonlySet<Target['type']> = new Set([
  'kubernetes-service',
  'kubernetes-pods',
  'inference-pool',
]);

/** `--min-workers auto` asks workloads; what names none cannot be counted. */
function checkCountable(targets: readonly Target[], { workersFile }: DiscoveryOptions): void {
  const untold = targets.find(({ type }) => !COUNTABLE.has(type));
  if (untold === undefined && workersFile === undefined) return;
  const what = untold === undefined ? `--workers-file ${workersFile}` : `--workers ${textOf(untold)}`;
  throw new DiscoveryError(
    'unsupported_target',
    `--min-workers auto needs a Kubernetes workload to count by, and ${what} names none; give a number, or find the workers by k8s://…, --pool or --dynamo-graph`,
  );
}

function textOf(target: Target): string {
  return target.type === 'address' ? target.address.text : target.text;
}

/** What `parse` gives; its errors name the setting. */
function underName<T>(setting: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof DiscoveryError)) throw error;
    throw new DiscoveryError(error.code, `${setting} ${error.message}`, { cause: error });
  }
}
