/**
 * How often a property is checked in an ordinary run: `count`, or as many times more as `KV_ACCORD_PROPERTY_FACTOR` says
 * (20 for a search that takes hours). For properties of which one run is slow; a fast one has its number beside it.
 */
export function propertyRuns(count: number): number {
  return Math.max(1, Math.round(count * Number(process.env['KV_ACCORD_PROPERTY_FACTOR'] ?? 1)));
}
