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
    sizes: distinct(sorted([...evidence.sizes, ...logs.flatMap(({ sizes }) => sizes)])),
    settings: distinct(sorted([...evidence.settings, ...logs.flatMap(({ settings }) => settings)])),
    logs: sorted(logs),
    metrics: sorted(evidence.metrics),
    findings: distinct(sorted(evidence.findings)),
    manifests: distinct(sorted(evidence.manifests)),
    fleets: distinct(sorted(evidence.fleets)),
    tokens: distinct(sorted(evidence.tokens)),
    eventSources: distinct(sorted(evidence.eventSources)),
    models: sorted(evidence.models),
    gpus: sorted(evidence.gpus),
  };
}

/** By all that an entry says. */
function sorted<T>(entries: readonly T[]): readonly T[] {
  return entries
    .map((entry) => ({ entry, key: keyOf(entry) }))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ entry }) => entry);
}

/** What two sources say alike counts once. Takes them sorted. */
function distinct<T>(entries: readonly T[]): readonly T[] {
  let last: string | undefined;
  return entries.filter((entry) => {
    const key = keyOf(entry);
    const isNew = key !== last;
    last = key;
    return isNew;
  });
}

function keyOf(entry: unknown): string {
  return JSON.stringify(entry, (_name, value: unknown) => {
    if (value instanceof Map) {
      return [...value].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
    }
    return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
  });
}
