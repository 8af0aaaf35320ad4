/**
 * How likely each of several choices is, as weights that are not normalised:
 * those who call sum and draw. Costs are read, and weights written, up to
 * `count`. All come back with the sum of the weights.
 */

/** The cheapest alone, and the cheapest of `seconds` among equals; those that are equal in both get the same. */
export function weighCheapest(
  costs: Float64Array,
  count: number,
  weights: Float64Array,
  seconds?: Float64Array,
): number {
  let least = Number.POSITIVE_INFINITY;
  let second = Number.POSITIVE_INFINITY;
  let sum = 0;
  for (let at = 0; at < count; at += 1) {
    const cost = costs[at] as number;
    const tied = seconds === undefined ? 0 : (seconds[at] as number);
    if (cost < least || (cost === least && tied < second)) {
      least = cost;
      second = tied;
      sum = 0;
    }
    if (cost === least && tied === second) sum += 1;
  }
  for (let at = 0; at < count; at += 1) {
    const isLeast = costs[at] === least && (seconds === undefined || seconds[at] === second);
    weights[at] = isLeast ? 1 : 0;
  }
  return sum;
}

/**
 * Softmax over costs that are normalised to 0 to 1, as Dynamo's KV router has it:
 * p_i ~ exp(-(c_i - min) / ((max - min) * temperature)). The same for all when all cost the same.
 */
export function weighSoftly(
  costs: Float64Array,
  count: number,
  temperature: number,
  weights: Float64Array,
): number {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < count; at += 1) {
    const cost = costs[at] as number;
    least = Math.min(least, cost);
    most = Math.max(most, cost);
  }
  const range = most - least;
  let sum = 0;
  for (let at = 0; at < count; at += 1) {
    const normalised = range > 0 ? ((costs[at] as number) - least) / range : 0;
    const weight = Math.exp(-normalised / temperature);
    weights[at] = weight;
    sum += weight;
  }
  return sum;
}

/** Each the same. */
export function weighEvenly(count: number, weights: Float64Array): number {
  weights.fill(1, 0, count);
  return count;
}

/** One place, each as likely as its part of `sum`; `fraction` is from 0 up to but not including 1. */
export function draw(weights: Float64Array, count: number, sum: number, fraction: number): number {
  let left = fraction * sum;
  let chosen = 0;
  for (let at = 0; at < count; at += 1) {
    const weight = weights[at] as number;
    if (weight === 0) continue;
    chosen = at;
    left -= weight;
    if (left < 0) break;
  }
  // Where rounding left a rest, it falls to the last that can be chosen.
  return chosen;
}
