import { isAlias, isMap, isScalar, isSeq, type Node, type YAMLMap, type YAMLSeq } from 'yaml';
import type { ListPlace, ListWay } from './pod-site.js';
import { keyOf, type YamlAccess } from './yaml-access.js';

/** No place: of what is not there. */
export const NO_PLACE: ListPlace = { isThere: false, names: [], way: undefined };

/** The place of the list under a key. */
export function listPlaceIn(access: YamlAccess, map: YAMLMap, key: string): ListPlace {
  const pair = map.items.find((item) => keyOf(item) === key);
  if (pair === undefined) {
    // One of its own would hide all that is in a list of a merge key.
    const isMerged = access.get(map, key) !== undefined;
    return { isThere: false, names: [], way: isMerged ? undefined : newList(map) };
  }
  const { value } = pair;
  if (isAlias(value) || !isSeq(value) || value.anchor !== undefined)
    return { isThere: true, names: [], way: undefined };
  return { isThere: true, names: value.items.flatMap(nameIn), way: behindItems(value) };
}

function nameIn(item: unknown): readonly string[] {
  const name = isMap(item) ? item.get('name') : undefined;
  return typeof name === 'string' ? [name] : [];
}

function behindItems(list: YAMLSeq): ListWay | undefined {
  const last = list.items.at(-1) as Node | undefined;
  return wayOf(list.flow ? 'in-brackets' : 'behind-items', list.range?.[0], last?.range?.[1]);
}

function newList(map: YAMLMap): ListWay | undefined {
  const start = map.range?.[0];
  if (map.flow) return wayOf('in-braces', start, map.items.length === 0 ? undefined : start);
  const pair = map.items.find(
    ({ key: name, value }) =>
      isScalar(name) &&
      isScalar(value) &&
      name.range &&
      value.range &&
      value.type !== 'BLOCK_FOLDED' &&
      value.type !== 'BLOCK_LITERAL',
  );
  const [name, value] = [pair?.key, pair?.value];
  if (isScalar(name) && isScalar(value)) return wayOf('behind-entry', name.range?.[0], value.range?.[1]);
  const first = map.items[0]?.key;
  return isScalar(first) ? wayOf('in-front', first.range?.[0], undefined) : undefined;
}

function wayOf(how: ListWay['how'], start: number | undefined, end: number | undefined): ListWay | undefined {
  return start === undefined ? undefined : { how, start, end };
}
