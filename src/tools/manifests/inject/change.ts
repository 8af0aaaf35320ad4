import type { Document, YAMLMap } from 'yaml';

/** What is to be added to a mapping of a document. Nothing that is there is changed or taken away. */
export type Change = {
  readonly document: Document.Parsed;
  readonly map: YAMLMap;
  readonly key: string;
} & (
  | {
      /** Items for the list under `key`, which is made where there is none. */
      readonly type: 'items';
      readonly items: readonly unknown[];
      readonly at: 'first' | 'last';
    }
  | {
      /** A key that the mapping does not have. */
      readonly type: 'pair';
      readonly value: unknown;
    }
);

/** Changes of one list at one end become one. */
export function mergeChanges(changes: readonly Change[]): readonly Change[] {
  const merged: Change[] = [];
  for (const change of changes) {
    const index = merged.findIndex(
      (known) =>
        known.map === change.map &&
        known.key === change.key &&
        known.type === 'items' &&
        change.type === 'items',
    );
    const known = merged[index];
    if (known?.type === 'items' && change.type === 'items')
      merged[index] = { ...known, items: [...known.items, ...change.items] };
    else merged.push(change);
  }
  return merged;
}
