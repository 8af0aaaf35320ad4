import { isMap, isScalar, isSeq, type Node, Pair, Scalar, YAMLMap } from 'yaml';
import type { PlacedText } from '../../../pod-site.js';
import { keyOf, type YamlAccess } from '../../../yaml-access.js';
import { type OpenFile, plainDocuments } from '../yaml-words.js';

/** What a recipe of srtctl has, whichever of its two layouts it is written in (docs/legacy-v1.md of NVIDIA/srt-slurm). */
export interface Recipe {
  readonly access: YamlAccess;
  readonly root: YAMLMap;
  readonly isSecond: boolean;
  /** `vllm`, `sglang`, `trtllm`, `mocker`, or another one. */
  readonly engine: string;
  /** Knobs of the engine as a whole. */
  readonly knobs: YAMLMap | undefined;
  readonly frontend: string;
  readonly roles: readonly RecipeRole[];
}

/** The workers of one kind. */
export interface RecipeRole {
  readonly mode: 'prefill' | 'decode' | 'agg';
  /** Flags of the engine, and for TensorRT-LLM its own YAML. */
  readonly args: YAMLMap | undefined;
  readonly env: YAMLMap | undefined;
  /** How its KV events are asked for; undefined where they are not. */
  readonly events: Node | undefined;
  /** How many there are; undefined where that is not written. */
  readonly count: number | undefined;
  /** Where it stands. */
  readonly at: PlacedText | undefined;
}

/** The modes, with the names that the first layout has for the last one. */
const MODES = [
  { mode: 'prefill', old: 'prefill' },
  { mode: 'decode', old: 'decode' },
  { mode: 'agg', old: 'aggregated' },
] as const;

const SIGN = /^\s*["']?(?:backend|engine|roles)["']?\s*:/m;

/** Variants of one recipe, and values of one list that makes some. */
const MAX_VARIANTS = 200;

/** The recipes of a file, each variant by itself: `base` with each `override_…`, and with each item of the lists of `zip_override_…`. */
export function readRecipes(file: OpenFile): readonly Recipe[] {
  if (!SIGN.test(file.source.text)) return [];
  return plainDocuments(file).flatMap(({ access, root }) => {
    const base = access.map(root, 'base');
    const roots = base === undefined ? [root] : variantsOf(access, root, base);
    return roots.flatMap((one) => recipeOf(access, one) ?? []);
  });
}

function recipeOf(access: YamlAccess, root: YAMLMap): Recipe | undefined {
  const isModel = access.text(access.map(root, 'model'), 'container') !== undefined;
  const roles = access.map(root, 'roles');
  const backend = access.map(root, 'backend');
  const resources = access.map(root, 'resources');
  if (!isModel || (roles === undefined && (backend === undefined || resources === undefined)))
    return undefined;
  const knobs = access.map(root, 'engine') ?? backend;
  const engine = access.text(root, 'engine')?.value ?? access.text(knobs, 'type')?.value ?? 'sglang';
  const isSecond = roles !== undefined;
  const named = access.text(access.map(root, 'frontend'), 'type')?.value ?? 'dynamo';
  return {
    access,
    root,
    isSecond,
    engine,
    knobs,
    // The name was given to something else in the second layout.
    frontend: !isSecond && named === 'sglang' ? 'sglang-router' : named,
    roles: MODES.flatMap(({ mode, old }) => {
      const role = isSecond
        ? ofSecond(access, roles, mode)
        : ofFirst(access, { backend, resources, engine }, mode, old);
      return role === undefined ? [] : [{ ...role, mode }];
    }),
  };
}

function ofSecond(access: YamlAccess, roles: YAMLMap, mode: string): Omit<RecipeRole, 'mode'> | undefined {
  const role = access.map(roles, mode);
  return role === undefined
    ? undefined
    : {
        args: access.map(role, 'args'),
        env: access.map(role, 'env'),
        events: said(access.get(role, 'kv_events')),
        count: access.number(role, 'workers'),
        at: keyIn(access, roles, mode),
      };
}

function ofFirst(
  access: YamlAccess,
  {
    backend,
    resources,
    engine,
  }: Pick<Recipe, 'engine'> & { backend: YAMLMap | undefined; resources: YAMLMap | undefined },
  mode: RecipeRole['mode'],
  old: string,
): Omit<RecipeRole, 'mode'> | undefined {
  const config = access.map(backend, `${engine}_config`);
  const args = access.map(config, old);
  const counts = MODES.map((one) => access.number(resources, `${one.mode}_workers`));
  const count = access.number(resources, `${mode}_workers`);
  // Sections of a kind of which there are no workers are left over from another recipe.
  const isThere = counts.every((one) => one === undefined) ? args !== undefined : (count ?? 0) > 0;
  const asked = access.get(backend, 'kv_events_config');
  // One answer for all means those of a pair.
  const all = mode === 'agg' ? undefined : said(asked);
  return isThere
    ? {
        args,
        env: access.map(backend, `${old}_environment`),
        events: isMap(asked) ? said(access.get(asked, old)) : all,
        count,
        at: keyIn(access, config, old) ?? keyIn(access, backend, 'type'),
      }
    : undefined;
}

/** What asks for something: `true` or a mapping, and not `false` or null. */
function said(node: Node | undefined): Node | undefined {
  return isMap(node) || (isScalar(node) && node.value === true) ? node : undefined;
}

/** A key of a mapping with its place. */
export function keyIn(access: YamlAccess, map: YAMLMap | undefined, name: string): PlacedText | undefined {
  return access.mapEntries(map).find(({ key }) => key.value === name)?.key;
}

function variantsOf(access: YamlAccess, root: YAMLMap, base: YAMLMap): readonly YAMLMap[] {
  const found = access.mapEntries(root).flatMap(({ key: { value: name }, map }): readonly YAMLMap[] => {
    if (map === undefined) return [];
    if (name.startsWith('override_')) return [merged(access, base, map)];
    if (!name.startsWith('zip_override_')) return [];
    const length = Math.min(longestList(access, map), MAX_VARIANTS);
    return Array.from({ length }, (_, index) => merged(access, base, map, index));
  });
  // Without a selector srtctl runs the variants alone.
  return found.length === 0 ? [base] : found.slice(0, MAX_VARIANTS);
}

/** What a variant is made of: its own values win, mappings are joined, and of each list of a group it takes its own item. */
function merged(access: YamlAccess, base: YAMLMap, over: YAMLMap, index?: number): YAMLMap {
  const result = new YAMLMap();
  const own = access.entries(over);
  result.items = [...access.entries(base)].map(([name, value]) => {
    const other = own.get(name);
    const chosen =
      other === undefined
        ? value
        : isMap(value) && isMap(other)
          ? merged(access, value, other, index)
          : itemOf(access, other, index);
    return pairOf(base, name, chosen);
  });
  for (const [name, value] of own) {
    if (result.items.some((one) => keyOf(one) === name)) continue;
    const chosen = isMap(value) ? merged(access, new YAMLMap(), value, index) : itemOf(access, value, index);
    result.items.push(pairOf(over, name, chosen));
  }
  return result;
}

function itemOf(access: YamlAccess, node: Node, index: number | undefined): Node {
  if (index === undefined || !isSeq(node)) return node;
  return access.resolve(node.items[node.items.length === 1 ? 0 : index]) ?? node;
}

/** A key of a mapping with another value; one that a merge adds stands where its value does. */
export function pairOf(from: YAMLMap, name: string, value: Node): Pair {
  const key = from.items.find((one) => keyOf(one) === name)?.key;
  if (key !== undefined) return new Pair(key, value);
  const implied = new Scalar(name);
  implied.range = value.range ?? null;
  return new Pair(implied, value);
}

function longestList(access: YamlAccess, map: YAMLMap): number {
  const lengths = [...access.entries(map).values()].map((value) =>
    isMap(value) ? longestList(access, value) : isSeq(value) ? value.items.length : 0,
  );
  return Math.max(0, ...lengths);
}
