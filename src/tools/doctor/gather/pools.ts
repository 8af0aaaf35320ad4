import { countOf } from '../../../core/text/lists.js';
import { asRecord, integerAt, listAt, textAt, valueAt } from '../../../edge/kubernetes/read-json.js';
import type { EvidencePart } from '../evidence.js';
import { outcome } from './outcomes.js';

/** Versions of the InferencePool, the one that gateways serve first. */
export const POOL_VERSIONS: readonly string[] = [
  'inference.networking.k8s.io/v1',
  'inference.networking.x-k8s.io/v1alpha2',
];

/** Pools and pods that are named. */
const MAX_POOLS = 20;
const MAX_NAMED = 5;

/**
 * Which pools a namespace has: who picks, what happens while the picker is
 * away, what gateways say, and how many of the pods have a sidecar that reports.
 */
export function poolParts(pools: readonly unknown[], pods: readonly unknown[]): readonly EvidencePart[] {
  return pools.slice(0, MAX_POOLS).flatMap((pool) => {
    const name = textAt(pool, 'metadata', 'name');
    if (name === undefined) return [];
    const members = pods.filter((pod) => isMember(pool, pod));
    const detail = [pickerText(pool), membersText(members), ...gatewayTexts(pool)].join('; ');
    return [{ source: outcome('cluster', `InferencePool ${name}`, 'read', detail) }];
  });
}

function pickerText(pool: unknown): string {
  const reference = valueAt(pool, 'spec', 'endpointPickerRef') ?? valueAt(pool, 'spec', 'extensionRef');
  const name = textAt(reference, 'name');
  if (name === undefined) return 'it names no picker';
  const port = integerAt(reference, 'port', 'number') ?? integerAt(reference, 'portNumber');
  const mode = textAt(reference, 'failureMode') ?? 'FailClose';
  const open = mode === 'FailOpen' ? ' (requests go past it while it cannot be reached)' : '';
  return `picker ${name}${port === undefined ? '' : `:${port}`}, failureMode ${mode}${open}`;
}

/** The selector's labels; v1alpha2 has them without `matchLabels`. */
function isMember(pool: unknown, pod: unknown): boolean {
  const phase = textAt(pod, 'status', 'phase');
  if (phase === 'Succeeded' || phase === 'Failed') return false;
  const selector = valueAt(pool, 'spec', 'selector');
  const labels = Object.entries(asRecord(valueAt(selector, 'matchLabels')) ?? asRecord(selector) ?? {});
  return (
    labels.length > 0 && labels.every(([key, value]) => valueAt(pod, 'metadata', 'labels', key) === value)
  );
}

function membersText(members: readonly unknown[]): string {
  if (members.length === 0) return 'no pod has its labels';
  const without = members.flatMap((pod) => {
    const why = whyNoReport(pod);
    return why === undefined ? [] : [`${textAt(pod, 'metadata', 'name') ?? ''} ${why}`];
  });
  const reporting = members.length - without.length;
  const named = without.slice(0, MAX_NAMED).join(', ');
  const more = without.length > MAX_NAMED ? ' and others' : '';
  return `${countOf(members.length, 'pod')}, ${reporting} with a sidecar that is ready${named === '' ? '' : ` (${named}${more})`}`;
}

/** Why a pod has no report; undefined where its sidecar is ready. */
function whyNoReport(pod: unknown): string | undefined {
  const containers = [...listAt(pod, 'spec', 'containers'), ...listAt(pod, 'spec', 'initContainers')];
  const sidecar = containers.find(isSidecar);
  if (sidecar === undefined) return 'has none';
  const states = [
    ...listAt(pod, 'status', 'containerStatuses'),
    ...listAt(pod, 'status', 'initContainerStatuses'),
  ];
  const state = states.find((one) => textAt(one, 'name') === textAt(sidecar, 'name'));
  if (valueAt(state, 'ready') === true) return undefined;
  const reason =
    textAt(state, 'state', 'waiting', 'reason') ?? textAt(state, 'state', 'terminated', 'reason');
  return `is not ready${reason === undefined ? '' : `: ${reason}`}`;
}

function isSidecar(container: unknown): boolean {
  const isOurs = /^kv-accord\b/.test(textAt(container, 'name') ?? '');
  const command = [...listAt(container, 'command'), ...listAt(container, 'args')];
  return (
    (isOurs || /(?:^|\/)kv-accord[:@]/.test(textAt(container, 'image') ?? '')) && command.includes('sidecar')
  );
}

/** What gateways do not take of a pool. */
function gatewayTexts(pool: unknown): readonly string[] {
  const parents = listAt(pool, 'status', 'parents');
  const refused = parents.flatMap((parent) =>
    listAt(parent, 'conditions')
      .filter((condition) => textAt(condition, 'status') === 'False')
      .map((condition) => {
        const gateway = textAt(parent, 'parentRef', 'name') ?? 'a gateway';
        const message = textAt(condition, 'message');
        return `${gateway}: ${textAt(condition, 'type') ?? ''} is False, ${textAt(condition, 'reason') ?? ''}${message === undefined ? '' : ` (${message})`}`;
      }),
  );
  return parents.length === 0 ? ['no gateway has it'] : refused.slice(0, MAX_NAMED);
}
