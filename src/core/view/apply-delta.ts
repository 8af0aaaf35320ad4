import { VIEW_LIMITS, type ViewDelta, type ViewDocument, type ViewRouting } from './view-document.js';

/**
 * The document after a delta; undefined where the delta is of another start of the process or does not follow, so that
 * the whole document has to be read again.
 */
export function applyDelta(document: ViewDocument, delta: ViewDelta): ViewDocument | undefined {
  if (delta.processId !== document.processId || delta.sequence !== document.sequence + 1) return undefined;
  const gone = new Set(delta.gone);
  return {
    ...document,
    sequence: delta.sequence,
    atMs: delta.atMs,
    headline: delta.headline ?? document.headline,
    process: delta.process ?? document.process,
    models: delta.models ?? document.models,
    workerCount: delta.workerCount ?? document.workerCount,
    workers: merge(document.workers, delta.workers, ({ id }) => id, gone),
    loads: merge(document.loads, delta.loads, firstOf, gone),
    holdings: merge(document.holdings, delta.holdings, firstOf, gone),
    routing: mergeRouting(document.routing, delta.routing, delta.atMs),
    decisions: merge(document.decisions, delta.decisions, ({ id }) => id).slice(-VIEW_LIMITS.decisions),
    timeline: [...document.timeline, ...(delta.timeline ?? [])].slice(-VIEW_LIMITS.timeline),
  };
}

function firstOf(row: readonly number[]): number {
  return row[0] ?? -1;
}

/** Those of before in their order, in their newer form where there is one, then the new ones. */
function merge<Item>(
  before: readonly Item[],
  changed: readonly Item[] | undefined,
  keyOf: (item: Item) => number,
  gone: ReadonlySet<number> = new Set(),
): readonly Item[] {
  if (changed === undefined && gone.size === 0) return before;
  const items = new Map(before.map((item) => [keyOf(item), item]));
  for (const item of changed ?? []) items.set(keyOf(item), item);
  for (const key of gone) items.delete(key);
  return [...items.values()];
}

function mergeRouting(
  before: readonly ViewRouting[],
  changed: readonly ViewRouting[] | undefined,
  atMs: number,
): readonly ViewRouting[] {
  if (changed === undefined) return before;
  const models = new Map(before.map((routing) => [routing.group, routing]));
  for (const { group, bucketMs, buckets } of changed) {
    if (buckets.length === 0) {
      models.delete(group);
      continue;
    }
    const oldest = atMs - VIEW_LIMITS.buckets * bucketMs;
    const kept = merge(models.get(group)?.buckets ?? [], buckets, (bucket) => bucket.atMs);
    models.set(group, { group, bucketMs, buckets: kept.filter((bucket) => bucket.atMs > oldest) });
  }
  return [...models.values()];
}
