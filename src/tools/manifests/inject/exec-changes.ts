import type { ContainerSite, OpenContainer, OpenPodSite } from '../pod-site.js';
import { YamlAccess } from '../yaml-access.js';
import type { Change } from './change.js';
import { execCommand, execMounts } from './containers.js';
import type { InjectOptions } from './options.js';

/** Two hours, as Dynamo's operator gives its workers: models are loaded while the frontend is held back. */
const STARTUP = { periodSeconds: 10, failureThreshold: 720 } as const;

/**
 * The changes that put a container's program behind `kv-accord exec`, or why
 * that cannot be done in a text that follows "…: ".
 */
export function execChanges(
  site: OpenPodSite,
  container: OpenContainer,
  gateArguments: readonly string[],
  options: InjectOptions,
): readonly Change[] | string {
  const { document } = site.open;
  const map = container.node;
  const command = wrappedCommand(site, container, execCommand(gateArguments));
  if (typeof command === 'string') return command;
  return [
    ...command.map((change) => ({ ...change, document, map })),
    { type: 'items', document, map, key: 'volumeMounts', items: execMounts(options), at: 'last' },
    ...startupProbe(site, container),
  ];
}

/** How long a startup probe that a container has itself gives its program; undefined where it has none. */
export function startupSecondsOf({ open }: OpenPodSite, { node }: OpenContainer): number | undefined {
  const access = new YamlAccess(open.document);
  const probe = access.map(node, 'startupProbe');
  if (probe === undefined) return undefined;
  const field = (name: string, fallback: number): number => access.number(probe, name) ?? fallback;
  // What Kubernetes takes for those that are not there.
  return field('initialDelaySeconds', 0) + field('periodSeconds', 10) * field('failureThreshold', 3);
}

type OwnChange =
  | { readonly type: 'items'; readonly key: string; readonly items: readonly unknown[]; readonly at: 'first' }
  | { readonly type: 'pair'; readonly key: string; readonly value: unknown };

function wrappedCommand(
  site: OpenPodSite,
  { command, args }: ContainerSite,
  wrapper: readonly string[],
): readonly OwnChange[] | string {
  // Arguments follow the command as they did: a shell's script is wrapped as a whole.
  if (command.length > 0) return [{ type: 'items', key: 'command', items: wrapper, at: 'first' }];
  if (site.kind !== 'DynamoGraphDeployment')
    return 'its container has no command, and what its image starts is not known here; write the command into the manifest, or take --gate wait';
  // The operator starts python3 -m dynamo.frontend.
  if (args.length === 0)
    return [
      { type: 'pair', key: 'command', value: [...wrapper, 'python3'] },
      { type: 'pair', key: 'args', value: ['-m', 'dynamo.frontend'] },
    ];
  if (args[0]?.value === '-m') return [{ type: 'pair', key: 'command', value: [...wrapper, 'python3'] }];
  return 'its container has arguments and no command; write command: [python3, -m, dynamo.frontend] into the manifest, or take --gate wait';
}

/** While the gate holds the program back nobody answers liveness probes: a startup probe keeps them away. */
function startupProbe(site: OpenPodSite, { node }: OpenContainer): readonly Change[] {
  const access = new YamlAccess(site.open.document);
  if (access.map(node, 'startupProbe') !== undefined) return [];
  const liveness = access.map(node, 'livenessProbe');
  const isOperators = site.kind === 'DynamoGraphDeployment';
  if (liveness === undefined && !isOperators) return [];
  const given = (liveness?.toJS(site.open.document) ?? {}) as Readonly<Record<string, unknown>>;
  const kind = ['httpGet', 'tcpSocket', 'grpc', 'exec'].find((one) => given[one] !== undefined);
  const handler = kind === undefined ? { httpGet: { path: '/live', port: 'http' } } : { [kind]: given[kind] };
  const value = { ...handler, ...STARTUP };
  return [{ type: 'pair', document: site.open.document, map: node, key: 'startupProbe', value }];
}
