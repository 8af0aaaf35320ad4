import { addTo } from '../../../../core/data/group-by.js';
import type { Launch } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { flagOf, settingOf, variableOf } from '../launches/settings.js';
import { textOfWord, UNKNOWN } from '../shell/words.js';
import { textAt } from '../text/span.js';
import { commandPhase } from './worker-facts.js';

/** Which workers a program of Dynamo finds, or where a worker registers itself. */
type Scope =
  /** A frontend without a Dynamo namespace finds the models of all. */
  | { readonly kind: 'all' }
  /** `--namespace-prefix`, which wins over `--namespace`. */
  | { readonly kind: 'prefix'; readonly prefix: string }
  | { readonly kind: 'namespace'; readonly name: string };

/** Where a worker of Dynamo registers itself that is given no namespace. */
const DEFAULT_NAMESPACE = 'dynamo';

/** Stores of discovery and of events, with the address that a program takes without one. */
const STORES = [
  { variable: 'ETCD_ENDPOINTS', byDefault: 'localhost:2379' },
  { variable: 'NATS_SERVER', byDefault: 'localhost:4222' },
] as const;

/**
 * Programs that serve together, apart where Dynamo keeps them apart: by the store in which they find each other, by their
 * Dynamo namespaces, and by the workers that a `dynamo.router` names. Programs of others are with all of them, unless their pod
 * says whose they are.
 */
export function withDiscovery(launches: readonly Launch[]): readonly (readonly Launch[])[] {
  let groups = [launches];
  for (const store of STORES) groups = groups.flatMap((group) => byStore(group, store));
  return groups.flatMap(byNamespace).flatMap(byComponent);
}

function byStore(
  launches: readonly Launch[],
  { variable, byDefault }: (typeof STORES)[number],
): readonly Launch[][] {
  const keyOf = (launch: Launch): string | undefined => {
    const setting = launch.site?.kind === 'DynamoGraphDeployment' ? undefined : variableOf(launch, variable);
    if (setting !== undefined)
      return textOfSetting(setting)
        .replace(/^[a-z]+:\/\//, '')
        .replace('127.0.0.1', 'localhost');
    // With events by ZMQ it needs no NATS, and says nothing of where others have theirs.
    if (variable === 'NATS_SERVER' && settingOf(launch, ['--event-plane'], ['DYN_EVENT_PLANE']) !== undefined)
      return undefined;
    // A pod may be given one by its cluster, and an image may have one.
    return launch.argsAre === 'script' && launch.site === undefined && !launch.hasUnseenEnv
      ? byDefault
      : undefined;
  };
  return split(
    launches,
    (one) => (one.isDynamo ? [keyOf(one) ?? ''] : undefined),
    (key) => key !== '',
  );
}

function byNamespace(launches: readonly Launch[]): readonly Launch[][] {
  const workers = launches.filter(isDynamoWorker);
  const all = new Set(workers.map(namespaceOf));
  const isUnnamed = workers.some((one) => writtenNamespace(one) === undefined);
  return split(launches, (launch) => {
    if (!launch.isDynamo) return pieceOf(launch, workers);
    if (launch.role === 'worker') return [namespaceOf(launch)];
    const scope = scopeOf(launch);
    const found = [...all].filter((name) => finds(scope, name));
    // Workers that name no namespace may be given one where these files do not show it.
    return found.length > 0 ? found : [isUnnamed ? DEFAULT_NAMESPACE : JSON.stringify(scope)];
  });
}

/** Routers that name their workers by an endpoint are with none that has another one. */
function byComponent(launches: readonly Launch[]): readonly Launch[][] {
  const routers = launches.filter((one) => one.role === 'router' && componentOf(one) !== undefined);
  const isOther = (router: Launch, worker: Launch): boolean => {
    const own =
      worker.role === 'worker' ? (componentOf(worker) ?? usualComponent(router, worker)) : undefined;
    return own !== undefined && own !== componentOf(router);
  };
  if (!routers.some((router) => launches.some((worker) => isOther(router, worker)))) return [[...launches]];
  const rest = launches.filter((one) => !routers.includes(one));
  return [
    ...routers.map((router) =>
      launches.filter((one) => one === router || (one.role === 'worker' && !isOther(router, one))),
    ),
    rest,
  ];
}

/**
 * Groups by keys, of which a program may have several; without any it is in all groups. In their order, and as they were where there
 * is one group. With `isKnown`, keys that are not known are a group only beside two others.
 */
function split(
  launches: readonly Launch[],
  keysOf: (launch: Launch) => readonly string[] | undefined,
  isKnown: (key: string) => boolean = () => true,
): readonly Launch[][] {
  const keys = launches.map(keysOf);
  const all = [...new Set(keys.flatMap((own) => own ?? []))];
  if (all.filter(isKnown).length < 2) return [[...launches]];
  const groups = new Map<string, Launch[]>(all.map((key) => [key, []]));
  for (const [index, launch] of launches.entries())
    for (const key of keys[index] ?? all) addTo(groups, key, launch);
  return [...groups.values()];
}

/** The namespace of the worker in the same pod. */
function pieceOf({ site }: Launch, workers: readonly Launch[]): readonly string[] | undefined {
  const beside = site === undefined ? undefined : workers.find((worker) => worker.site === site);
  return beside === undefined ? undefined : [namespaceOf(beside)];
}

function isDynamoWorker({ isDynamo, role }: Launch): boolean {
  return isDynamo && role === 'worker';
}

function finds(scope: Scope, namespace: string): boolean {
  if (scope.kind === 'all') return true;
  return scope.kind === 'prefix' ? namespace.startsWith(scope.prefix) : namespace === scope.name;
}

function scopeOf(launch: Launch): Scope {
  const prefix = settingOf(launch, ['--namespace-prefix'], ['DYN_NAMESPACE_PREFIX']);
  if (prefix !== undefined) return { kind: 'prefix', prefix: textOfSetting(prefix) };
  const name = writtenNamespace(launch);
  if (name !== undefined) return { kind: 'namespace', name };
  // Which one an unseen variable gives is not known: then it is compared with the workers that have none of their own.
  return launch.hasUnseenEnv ? { kind: 'namespace', name: DEFAULT_NAMESPACE } : { kind: 'all' };
}

function namespaceOf(worker: Launch): string {
  const suffix = variableOf(worker, 'DYN_NAMESPACE_WORKER_SUFFIX');
  const own = writtenNamespace(worker) ?? DEFAULT_NAMESPACE;
  return suffix === undefined || endpointOf(worker) !== undefined ? own : `${own}-${textOfSetting(suffix)}`;
}

function writtenNamespace(launch: Launch): string | undefined {
  const [namespace] = endpointOf(launch) ?? [];
  if (namespace !== undefined) return namespace;
  const flag = flagOf(launch, '--namespace');
  if (flag !== undefined) return textOfSetting(flag);
  const variable = variableOf(launch, 'DYN_NAMESPACE');
  return launch.site?.dynamoNamespace ?? (variable === undefined ? undefined : textOfSetting(variable));
}

function componentOf(launch: Launch): string | undefined {
  return endpointOf(launch)?.[1];
}

/** Where Dynamo's wrappers register a worker that is given no endpoint, as far as a router is for one of these. */
function usualComponent(router: Launch, worker: Launch): string | undefined {
  const wanted = componentOf(router) ?? '';
  if (!worker.isDynamo || worker.hasUnseenArgs || !USUAL_COMPONENTS.includes(wanted)) return undefined;
  return commandPhase(worker) === 'prefill' ? 'prefill' : 'backend';
}

const USUAL_COMPONENTS: readonly string[] = ['prefill', 'backend'];

/** `dyn://NAMESPACE.COMPONENT.ENDPOINT`, of which a part may not be known. */
function endpointOf(launch: Launch): readonly [string, string] | undefined {
  const setting = settingOf(launch, ['--endpoint'], ['DYN_ENDPOINT']);
  if (setting === undefined) return undefined;
  const parts = textOfWord(setting)
    .replace(/^dyn:\/\//, '')
    .split('.');
  const [namespace, component] = parts;
  if (namespace === undefined || component === undefined || parts.length !== 3) return undefined;
  const written = textOfSetting(setting).replace('dyn://', '').split('.')[0] ?? '';
  return [namespace.includes(UNKNOWN) ? written : namespace, component];
}

/** Values that are not known are the same where they are written in the same way. */
function textOfSetting({ value, span }: SettingValue): string {
  return value ?? `?${textAt(span).replace(/[\s"'{}]+/g, '')}`;
}
