import { posix } from 'node:path';
import { isMap, isScalar, visit, YAMLMap } from 'yaml';
import type { PlacedText } from '../../pod-site.js';
import { readObjects } from '../../read-pod-sites.js';
import { placesIn } from '../../source-file.js';
import { keyOf, YamlAccess } from '../../yaml-access.js';
import type { Kustomizations } from '../config/kustomizations.js';
import type { TreeFiles } from '../config/tree-files.js';
import { locateScalar } from '../text/scalar-text.js';
import type { Span } from '../text/span.js';
import type { BuiltObject } from './built-object.js';
import { generateMap } from './generated-maps.js';
import { setImages } from './images.js';
import type { JoinedSource } from './joined-source.js';
import type { OpenKustomization } from './open-kustomization.js';
import { parsePart } from './parse-part.js';
import { applyPatch, patchPaths, type ReadPatch, readPatches } from './patches.js';
import { isBelow, type Refusal, repeated } from './refusal.js';
import { replaceFields } from './replacements.js';
import { scalarOf, setValue } from './yaml-nodes.js';

/** Kustomizations that build on each other: more than this is a circle. */
const MAX_DEPTH = 16;

/** Objects of one overlay, and patches and replacements that one kustomization has. */
const MAX_OBJECTS = 2_000;
const MAX_CHANGES = 200;

/** Fields of a kustomization that change objects in ways that are not followed here. */
const NOT_FOLLOWED = ['transformers', 'validators', 'openapi'] as const;

const YAML_FILE = /\.(?:ya?ml|json)$/i;
const SECRET = /secret|token|credential|password|\bkey/i;

/** What a kustomization is made of, and is not in these files. */
export interface Outside {
  /** A base at an address, a chart that Kustomize would have rendered, a base or a component that is not among the files, or a single file. */
  readonly kind: 'address' | 'chart' | 'absent' | 'file';
  readonly span: Span;
}

/** What a kustomization builds, as far as its files are here. */
export interface Overlay {
  readonly source: JoinedSource;
  readonly objects: readonly BuiltObject[];
  /** The files whose objects are in it. */
  readonly resources: ReadonlySet<string>;
  /** The files whose patches changed something in it. */
  readonly applied: ReadonlySet<string>;
  readonly outside: readonly Outside[];
  /** Why kubectl does not build it. */
  readonly refusals: readonly Refusal[];
}

/**
 * Builds a kustomization as `kustomize build` does, as far as containers, their arguments and their variables are
 * concerned: resources, generated ConfigMaps, components, patches, images and replacements, in the order of Kustomize. Names stay
 * those of the files. Undefined when it is too large, or its files cannot be read.
 */
export function buildOverlay(
  folder: string,
  source: JoinedSource,
  { tree, kustomizations }: { readonly tree: TreeFiles; readonly kustomizations: Kustomizations },
): Overlay | undefined {
  const resources = new Set<string>();
  const applied = new Set<string>();
  const objects: BuiltObject[] = [];
  const outside: Outside[] = [];
  const refusals: Refusal[] = [];
  const refuse = (kind: Refusal['kind'], given: PlacedText, what: string): void => {
    if (refusals.length < MAX_CHANGES) refusals.push({ kind, span: locateScalar(source, given).span, what });
  };
  let isWhole = true;

  const addFile = (path: string, part: string, into: BuiltObject[]): boolean => {
    const text = tree.textAt(path);
    const documents = text === undefined ? undefined : parsePart(text, source);
    if (documents === undefined) return false;
    resources.add(path);
    for (const node of readObjects({
      file: path,
      text: '',
      documents,
      problems: [],
      placeOf: placesIn(''),
    })) {
      const { access, object } = node;
      const metadata = access.map(object, 'metadata');
      const named = (key: string): Set<string> => {
        const text = access.text(metadata, key)?.value;
        return new Set(text === undefined ? [] : [text]);
      };
      into.push({
        ...node,
        apiVersion: access.text(object, 'apiVersion')?.value ?? '',
        kind: access.text(object, 'kind')?.value ?? '',
        names: named('name'),
        namespaces: named('namespace'),
        part,
        isUnknown: false,
      });
    }
    return true;
  };

  const run = (at: string, into: BuiltObject[], depth: number, part: string | undefined): void => {
    const file = kustomizations.fileAt(at);
    const text = file === undefined ? undefined : tree.textAt(file);
    const [document] = (text === undefined ? undefined : parsePart(text, source)) ?? [];
    if (document === undefined || file === undefined || !isMap(document.contents) || depth > MAX_DEPTH) {
      for (const object of into) object.isUnknown = true;
      return;
    }
    const access = new YamlAccess(document);
    const root = document.contents;
    const miss = (kind: Outside['kind'], given: PlacedText): void => {
      if (outside.length < MAX_CHANGES) outside.push({ kind, span: locateScalar(source, given).span });
    };
    const missPath = (path: PlacedText): void => {
      if (isAddress(path.value)) miss('address', path);
      else if (!YAML_FILE.test(path.value)) miss('absent', path);
      // Files with secrets are made by hand, and not kept with the others.
      else if (!SECRET.test(path.value) && tree.textAt(posix.join(at, path.value)) === undefined)
        miss('file', path);
    };
    for (const path of [...access.texts(root, 'resources'), ...access.texts(root, 'bases')]) {
      const full = posix.join(at, path.value);
      isWhole &&= objects.length + into.length <= MAX_OBJECTS;
      if (!isWhole) return;
      const isFile = kustomizations.fileAt(full) === undefined;
      const added: BuiltObject[] = [];
      if (!isFile) run(full, added, depth + 1, part ?? full);
      else if (!addFile(full, part ?? file, added)) missPath(path);
      else if (!isBelow(at, full)) refuse('outside', path, path.value);
      const twice = repeated(into, added);
      if (twice !== undefined) refuse('twice', path, `${twice.kind} ${[...twice.names].at(-1) ?? ''}`);
      into.push(...added);
    }
    for (const generator of access.maps(root, 'configMapGenerator').slice(0, MAX_CHANGES)) {
      const made = generateMap(generator, access, { folder: at, tree, source });
      if (made !== undefined)
        addGenerated({ ...made, part: part ?? file }, access.text(generator, 'behavior')?.value, into);
    }
    for (const chart of access.maps(root, 'helmCharts').slice(0, MAX_CHANGES)) {
      const name = access.text(chart, 'name');
      if (name !== undefined) miss('chart', name);
    }
    for (const path of access.texts(root, 'components')) {
      const full = posix.join(at, path.value);
      if (kustomizations.fileAt(full) !== undefined) run(full, into, depth + 1, part ?? file);
      else {
        missPath(path);
        for (const object of into) object.isUnknown = true;
      }
    }
    for (const path of patchPaths(root, access)) if (YAML_FILE.test(path.value)) missPath(path);
    if (NOT_FOLLOWED.some((key) => access.get(root, key) !== undefined))
      for (const object of into) object.isUnknown = true;
    change(into, { root, access, file, folder: at, tree, source }, applied);
  };

  run(folder, objects, 0, undefined);
  return isWhole ? { source, objects, resources, applied, outside, refusals } : undefined;
}

/** Whether Kustomize fetches what a path names: an address, or a repository as Git writes it. */
function isAddress(path: string): boolean {
  return /^(?:[a-z][a-z+]*::?\/\/|git::|[\w.-]+@[\w.-]+:|(?:www\.)?(?:github|gitlab|bitbucket)\.\w+[/:])|[?&](?:ref|version)=/i.test(
    path,
  );
}

/** All that a kustomization changes, in the order of Kustomize. */
function change(objects: readonly BuiltObject[], open: OpenKustomization, applied: Set<string>): void {
  const { root, access } = open;
  const apply = (patches: readonly ReadPatch[]): void => {
    for (const patch of patches.slice(0, MAX_CHANGES))
      if (applyPatch(objects, patch)) applied.add(patch.file);
  };
  apply(readPatches(open, 'patchesStrategicMerge'));
  apply(readPatches(open, 'patches'));
  rename(objects, open);
  for (const object of objects) addLabels(object, open);
  apply(readPatches(open, 'patchesJson6902'));
  const images = access.maps(root, 'images').slice(0, MAX_CHANGES);
  if (images.length > 0) for (const { object, access: own } of objects) setImages(object, images, own);
  for (const replacement of access.maps(root, 'replacements').slice(0, MAX_CHANGES)) {
    const text = access.text(replacement, 'path');
    if (text !== undefined) for (const object of objects) object.isUnknown = true;
    else replaceFields(objects, replacement, access);
  }
  const names = access.maps(root, 'vars').flatMap((one) => access.text(one, 'name')?.value ?? []);
  if (names.length > 0) for (const object of objects) object.isUnknown ||= namesVariable(object, names);
}

/** A generated ConfigMap beside the others, or merged into the one that it names. */
function addGenerated(made: BuiltObject, behavior: string | undefined, into: BuiltObject[]): void {
  const at = into.findIndex(
    ({ kind, names }) => kind === made.kind && [...made.names].some((one) => names.has(one)),
  );
  const old = into[at];
  if (old === undefined || behavior === undefined || behavior === 'create') {
    into.push(made);
    return;
  }
  if (behavior === 'replace') {
    into[at] = made;
    return;
  }
  const data = old.access.map(old.object, 'data');
  for (const [key, value] of made.access.entries(made.access.map(made.object, 'data')))
    if (data !== undefined) setValue(data, key, value);
  old.isUnknown ||= made.isUnknown || data === undefined;
}

/** The namespace counts from here on; names stay as they are, and a patch may use those that a prefix makes. */
function rename(objects: readonly BuiltObject[], { root, access }: OpenKustomization): void {
  const namespace = access.text(root, 'namespace');
  const prefix = access.text(root, 'namePrefix')?.value ?? '';
  const suffix = access.text(root, 'nameSuffix')?.value ?? '';
  for (const { object, access: own, names, namespaces } of objects) {
    if (namespace !== undefined) {
      const metadata = own.map(object, 'metadata');
      if (metadata !== undefined) setValue(metadata, 'namespace', scalarOf(namespace));
      namespaces.add(namespace.value);
    }
    if (prefix + suffix !== '') for (const name of [...names]) names.add(`${prefix}${name}${suffix}`);
  }
}

/** Labels that pods get: by `commonLabels`, and by `labels` that are for templates too. */
function addLabels({ object, access: own }: BuiltObject, { root, access }: OpenKustomization): void {
  const isTrue = (map: YAMLMap, key: string): boolean => {
    const node = access.get(map, key);
    return isScalar(node) && node.value === true;
  };
  const template = own.map(object, 'spec', 'template');
  if (template === undefined) return;
  const given = [
    access.map(root, 'commonLabels'),
    ...access
      .maps(root, 'labels')
      .filter((one) => isTrue(one, 'includeSelectors') || isTrue(one, 'includeTemplates'))
      .map((one) => access.map(one, 'pairs')),
  ];
  for (const { key, value } of given.flatMap((labels) => access.textEntries(labels)))
    setValue(mapUnder(mapUnder(template, 'metadata'), 'labels'), key.value, scalarOf(value));
}

function mapUnder(map: YAMLMap, key: string): YAMLMap {
  const existing = map.items.find((pair) => keyOf(pair) === key)?.value;
  if (isMap(existing)) return existing;
  const made = new YAMLMap();
  made.range = map.range ?? null;
  setValue(map, key, made);
  return made;
}

/** Whether an object has one of the variables of Kustomize in a text: `$(NAME)`. */
function namesVariable({ object }: BuiltObject, names: readonly string[]): boolean {
  let found = false;
  visit(object, {
    Scalar(_key, { value }) {
      if (typeof value !== 'string') return undefined;
      found = names.some((name) => value.includes(`$(${name})`));
      return found ? visit.BREAK : undefined;
    },
  });
  return found;
}
