import { type Node, Pair, Scalar, type YAMLMap } from 'yaml';
import type { PlacedText } from '../../pod-site.js';
import { keyOf } from '../../yaml-access.js';

/** A scalar that stands where another node does. */
export function scalarAt(value: unknown, near: Pick<Node, 'range'>): Scalar {
  const scalar = new Scalar(value);
  scalar.range = near.range ?? null;
  return scalar;
}

/** A scalar with the value and the place of a text. */
export function scalarOf({ value, start, end, type }: PlacedText): Scalar {
  const scalar = new Scalar(value);
  scalar.range = [start, end, end];
  if (type !== undefined) scalar.type = type;
  return scalar;
}

/** A value under a key, in the place of the one that may be there. */
export function setValue(map: YAMLMap, name: string, value: Node): void {
  const pair = map.items.find((one) => keyOf(one) === name);
  if (pair === undefined) map.items.push(new Pair(scalarAt(name, value), value));
  else pair.value = value;
}
