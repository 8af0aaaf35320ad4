import type { Evidence } from '../evidence.js';

/**
 * The same evidence in an order that does not depend on which source answered
 * first, so that the same facts give the same report. What logs report of sizes
 * and settings is among the others.
 */
export function inOneOrder(evidence: Evidence): Evidence {
  const { logs } = evidence;
  return {
    sources: sorted(evidence.sources),
    sizes: distinct([...evidence.sizes, ...logs.flatMap(({ sizes }) => sizes)]),
    settings: distinct([...evidence.settings, ...logs.flatMap(({ settings }) => settings)]),
    logs: sorted(logs),
    metrics: sorted(evidence.metrics),
    findings: distinct(evidence.findings),
    manifests: distinct(evidence.manifests),
    fleets: distinct(evidence.fleets),
    tokens: distinct(evidence.tokens),
    eventSources: distinct(evidence.eventSources),
    models: sorted(evidence.models),
    gpus: sorted(evidence.gpus),
  };
}

/** By all that an entry says. */
function sorted<T>(entries: readonly T[]): readonly T[] {
  return byKey(entries).map(({ entry }) => entry);
}

/** The same; what two sources say alike counts once. */
function distinct<T>(entries: readonly T[]): readonly T[] {
  return byKey(entries)
    .filter(({ key }, at, all) => at === 0 || key !== all[at - 1]?.key)
    .map(({ entry }) => entry);
}

/** One alone needs no key: that of a whole log is long. */
function byKey<T>(entries: readonly T[]): readonly { readonly entry: T; readonly key: string }[] {
  if (entries.length < 2) return entries.map((entry) => ({ entry, key: '' }));
  return entries
    .map((entry) => ({ entry, key: keyOf(entry) }))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
}

function keyOf(entry: unknown): string {
  return JSON.stringify(entry, (_name, value: unknown) => {
    if (value instanceof Map) {
      return [...value].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
    }
    return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
  });
}
