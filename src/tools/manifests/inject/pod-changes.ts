import type { OpenPodSite } from '../pod-site.js';
import { YamlAccess } from '../yaml-access.js';
import type { Change } from './change.js';
import type { Written } from './containers.js';

/** Lists of a pod spec to which something is added. */
export type PodList = 'initContainers' | 'containers' | 'volumes';

/** What is added to one list of a pod spec. */
export interface PodAddition {
  readonly list: PodList;
  readonly items: readonly Written[];
  readonly at: 'first' | 'last';
}

/** The changes that add to a pod spec, which is made where a component of a graph has none yet. */
export function podChanges(site: OpenPodSite, additions: readonly PodAddition[]): readonly Change[] {
  const { document, spec, node } = site.open;
  const some = additions.filter(({ items }) => items.length > 0);
  if (spec !== undefined)
    return some.map(({ list, items, at }) => ({ type: 'items', document, map: spec, key: list, items, at }));
  if (some.length === 0) return [];
  const access = new YamlAccess(document);
  const made: Record<string, unknown[]> = {};
  for (const { list, items } of some) made[list] = [...(made[list] ?? []), ...items];
  if (site.apiVersion.endsWith('/v1alpha1'))
    return [{ type: 'pair', document, map: node, key: 'extraPodSpec', value: made }];
  // A pod spec must have containers; the operator makes `main` complete.
  const value = {
    containers: [{ name: 'main' }, ...(made['containers'] ?? [])],
    ...without(made, 'containers'),
  };
  const template = access.map(node, 'podTemplate');
  return template === undefined
    ? [{ type: 'pair', document, map: node, key: 'podTemplate', value: { spec: value } }]
    : [{ type: 'pair', document, map: template, key: 'spec', value }];
}

function without(map: Readonly<Record<string, unknown[]>>, key: string): Record<string, unknown[]> {
  return Object.fromEntries(Object.entries(map).filter(([name]) => name !== key));
}
