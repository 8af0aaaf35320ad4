import { type Document, isAlias, isMap, isPair, isScalar, isSeq, type Node, type YAMLMap } from 'yaml';
import { aliasTargets } from './aliases.js';
import type { Placed, PlacedText } from './pod-site.js';

/** Merge keys (`<<`) and aliases that lead to further ones: more than this is no manifest but a trap. */
const MAX_DEPTH = 16;

/**
 * Reads the nodes of one document. Aliases and merge keys are followed, so that
 * a manifest reads here as it does in a cluster; a key or an item that is not of the
 * kind that is asked for is absent.
 */
export class YamlAccess {
  readonly #document: Document.Parsed;

  constructor(document: Document.Parsed) {
    this.#document = document;
  }

  /** What a node stands for: the node itself, or the one that its alias names. */
  resolve(node: unknown): Node | undefined {
    let current = node;
    for (let depth = 0; depth < MAX_DEPTH && isAlias(current); depth += 1) {
      current = aliasTargets(this.#document).get(current) ?? current.resolve(this.#document);
    }
    return isMap(current) || isSeq(current) || isScalar(current) ? current : undefined;
  }

  /** The value under a key, of the mapping itself or of one that it merges. */
  get(map: YAMLMap | undefined, key: string, depth = 0): Node | undefined {
    if (map === undefined || depth > MAX_DEPTH) {
      return undefined;
    }
    let merged: unknown;
    for (const item of map.items) {
      const name = keyOf(item);
      if (name === key) {
        return this.resolve(item.value);
      }
      if (name === '<<') {
        merged = this.resolve(item.value);
      }
    }
    const sources = isSeq(merged)
      ? merged.items.slice(0, MAX_DEPTH).map((one) => this.resolve(one))
      : [merged];
    for (const source of sources) {
      const found = isMap(source) ? this.get(source, key, depth + 1) : undefined;
      if (found !== undefined) {
        return found;
      }
    }
    return undefined;
  }

  map(map: YAMLMap | undefined, ...path: readonly string[]): YAMLMap | undefined {
    let current = map;
    for (const key of path) {
      const next = this.get(current, key);
      current = isMap(next) ? next : undefined;
    }
    return current;
  }

  /** The items of a list; empty for one that is absent. */
  items(map: YAMLMap | undefined, key: string): readonly Node[] {
    const list = this.get(map, key);
    return isSeq(list) ? list.items.flatMap((item) => this.resolve(item) ?? []) : [];
  }

  /** Those items of a list that are mappings. */
  maps(map: YAMLMap | undefined, key: string): readonly YAMLMap[] {
    return this.items(map, key).filter((item) => isMap(item));
  }

  /** Those items of a list that are texts or numbers. */
  texts(map: YAMLMap | undefined, key: string): readonly PlacedText[] {
    return this.items(map, key).flatMap((item) => placedText(item) ?? []);
  }

  /** A text; numbers and booleans as they are written. */
  text(map: YAMLMap | undefined, key: string): PlacedText | undefined {
    return placedText(this.get(map, key));
  }

  number(map: YAMLMap | undefined, key: string): number | undefined {
    const node = this.get(map, key);
    return isScalar(node) && typeof node.value === 'number' ? node.value : undefined;
  }

  /** Keys with the mappings under them, in the order of the file. */
  mapEntries(
    map: YAMLMap | undefined,
  ): readonly { readonly key: PlacedText; readonly map: YAMLMap | undefined }[] {
    return (map?.items ?? []).flatMap((item) => {
      const key = placedText(item.key);
      if (key === undefined || key.value === '<<') {
        return [];
      }
      const value = this.resolve(item.value);
      return [{ key, map: isMap(value) ? value : undefined }];
    });
  }

  /** Keys with what stands under them, those of merged mappings included; a mapping's own come first and win. */
  entries(map: YAMLMap | undefined, depth = 0): ReadonlyMap<string, Node> {
    const entries = new Map<string, Node>();
    if (map === undefined || depth > MAX_DEPTH) {
      return entries;
    }
    let merged: unknown;
    for (const item of map.items) {
      const name = keyOf(item);
      const value = this.resolve(item.value);
      if (name === '<<') {
        merged = value;
      } else if (name !== undefined && value !== undefined) {
        entries.set(name, value);
      }
    }
    const sources = isSeq(merged)
      ? merged.items.slice(0, MAX_DEPTH).map((one) => this.resolve(one))
      : [merged];
    for (const source of sources) {
      for (const [name, value] of isMap(source) ? this.entries(source, depth + 1) : []) {
        if (!entries.has(name)) {
          entries.set(name, value);
        }
      }
    }
    return entries;
  }

  /** Keys with the texts under them; values that are no text are left out. */
  textEntries(map: YAMLMap | undefined): readonly { readonly key: PlacedText; readonly value: PlacedText }[] {
    return (map?.items ?? []).flatMap((item) => {
      const key = placedText(item.key);
      const value = placedText(this.resolve(item.value));
      return key === undefined || value === undefined ? [] : [{ key, value }];
    });
  }
}

/** The key of a pair, if it is a plain text. */
export function keyOf(pair: unknown): string | undefined {
  return isPair(pair) && isScalar(pair.key) ? String(pair.key.value) : undefined;
}

/** A scalar with its place. Null is absent, as in a cluster. */
export function placedText(node: unknown): PlacedText | undefined {
  if (!isScalar(node) || node.value === null || node.value === undefined || !node.range) {
    return undefined;
  }
  const value = typeof node.value === 'string' ? node.value : (node.source ?? String(node.value));
  return { value, start: node.range[0], end: node.range[1], type: node.type };
}

/** Where a node stands. */
export function placeOfNode(node: Node): Placed<undefined> {
  const [start, end] = node.range ?? [0, 0];
  return { value: undefined, start, end };
}
