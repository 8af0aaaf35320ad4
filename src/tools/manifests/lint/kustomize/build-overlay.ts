import { posix } from 'node:path';
import { isMap } from 'yaml';
import type { PlacedText } from '../../pod-site.js';
import { readObjects } from '../../read-pod-sites.js';
import { placesIn } from '../../source-file.js';
import { YamlAccess } from '../../yaml-access.js';
import type { Kustomizations } from '../config/kustomizations.js';
import type { TreeFiles } from '../config/tree-files.js';
import { locateScalar } from '../text/scalar-text.js';
import type { Span } from '../text/span.js';
import type { BuiltObject } from './built-object.js';
import { changeObjects, MAX_CHANGES } from './change-objects.js';
import { generateMap } from './generated-maps.js';
import type { JoinedSource } from './joined-source.js';
import type { OpenKustomization } from './open-kustomization.js';
import { parsePart } from './parse-part.js';
import { patchPaths } from './patches.js';
import { isBelow, type Refusal, repeated } from './refusal.js';
import { setValue } from './yaml-nodes.js';

/** Kustomizations that build on each other: more than this is a circle. */
const MAX_DEPTH = 16;

/** Objects of one overlay. */
const MAX_OBJECTS = 2_000;

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

/** The files that a kustomization may name. */
interface OverlayFiles {
  readonly tree: TreeFiles;
  readonly kustomizations: Kustomizations;
}

/**
 * Builds a kustomization as `kustomize build` does, as far as containers, their arguments and their variables are
 * concerned: resources, generated ConfigMaps, components, patches, images and replacements, in the order of Kustomize. Names stay
 * those of the files. Undefined when it is too large.
 */
export function buildOverlay(folder: string, source: JoinedSource, files: OverlayFiles): Overlay | undefined {
  const build = new OverlayBuild(source, files);
  build.run(folder, build.objects, 0, undefined);
  if (!build.isWhole) return undefined;
  const { objects, resources, applied, outside, refusals } = build;
  return { source, objects, resources, applied, outside, refusals };
}

/** One overlay while it is built. */
class OverlayBuild {
  readonly objects: BuiltObject[] = [];
  readonly resources = new Set<string>();
  readonly applied = new Set<string>();
  readonly outside: Outside[] = [];
  readonly refusals: Refusal[] = [];
  readonly #source: JoinedSource;
  readonly #files: OverlayFiles;
  /** False when it has too many objects. */
  isWhole = true;

  constructor(source: JoinedSource, files: OverlayFiles) {
    this.#source = source;
    this.#files = files;
  }

  /** Puts what the kustomization of a folder makes into `into`; `part` is the base or the file of the overlay that led here. */
  run(folder: string, into: BuiltObject[], depth: number, part: string | undefined): void {
    const { tree, kustomizations } = this.#files;
    const file = kustomizations.fileAt(folder);
    const text = file === undefined ? undefined : tree.textAt(file);
    const [document] = (text === undefined ? undefined : parsePart(text, this.#source)) ?? [];
    const root = document?.contents;
    if (document === undefined || file === undefined || !isMap(root) || depth > MAX_DEPTH) {
      setUnknown(into);
      return;
    }
    const access = new YamlAccess(document);
    const open: OpenKustomization = { root, access, file, folder, tree, source: this.#source };
    this.#addResources(open, into, depth, part);
    if (!this.isWhole) return;
    this.#addGenerated(open, into, part ?? file);
    for (const chart of access.maps(root, 'helmCharts').slice(0, MAX_CHANGES)) {
      const name = access.text(chart, 'name');
      if (name !== undefined) this.#miss('chart', name);
    }
    for (const path of access.texts(root, 'components')) {
      const full = posix.join(folder, path.value);
      if (kustomizations.fileAt(full) !== undefined) this.run(full, into, depth + 1, part ?? file);
      else {
        this.#missPath(path, folder);
        setUnknown(into);
      }
    }
    for (const path of patchPaths(root, access)) if (YAML_FILE.test(path.value)) this.#missPath(path, folder);
    if (NOT_FOLLOWED.some((key) => access.get(root, key) !== undefined)) setUnknown(into);
    changeObjects(into, open, this.applied);
  }

  /** Adds what is named as a resource: other kustomizations, and files. */
  #addResources(open: OpenKustomization, into: BuiltObject[], depth: number, part: string | undefined): void {
    const { root, access, file, folder } = open;
    for (const path of [...access.texts(root, 'resources'), ...access.texts(root, 'bases')]) {
      const full = posix.join(folder, path.value);
      this.isWhole &&= this.objects.length + into.length <= MAX_OBJECTS;
      if (!this.isWhole) return;
      const isFile = this.#files.kustomizations.fileAt(full) === undefined;
      const added: BuiltObject[] = [];
      if (!isFile) this.run(full, added, depth + 1, part ?? full);
      else if (!this.#addFile(full, part ?? file, added)) this.#missPath(path, folder);
      else if (!isBelow(folder, full)) this.#refuse('outside', path, path.value);
      const twice = repeated(into, added);
      if (twice !== undefined) this.#refuse('twice', path, `${twice.kind} ${[...twice.names].at(-1) ?? ''}`);
      into.push(...added);
    }
  }

  /** Adds the objects of a file. False where it is not there, or is no YAML. */
  #addFile(path: string, part: string, into: BuiltObject[]): boolean {
    const text = this.#files.tree.textAt(path);
    const documents = text === undefined ? undefined : parsePart(text, this.#source);
    if (documents === undefined) return false;
    this.resources.add(path);
    const file = { file: path, text: '', documents, problems: [], placeOf: placesIn('') };
    for (const node of readObjects(file)) {
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
  }

  #addGenerated({ root, access, folder }: OpenKustomization, into: BuiltObject[], part: string): void {
    const place = { folder, tree: this.#files.tree, source: this.#source };
    for (const generator of access.maps(root, 'configMapGenerator').slice(0, MAX_CHANGES)) {
      const made = generateMap(generator, access, place);
      if (made !== undefined)
        addGenerated({ ...made, part }, access.text(generator, 'behavior')?.value, into);
    }
  }

  #missPath(path: PlacedText, folder: string): void {
    if (isAddress(path.value)) this.#miss('address', path);
    else if (!YAML_FILE.test(path.value)) this.#miss('absent', path);
    // Files with secrets are made by hand, and not kept with the others.
    else if (
      !SECRET.test(path.value) &&
      this.#files.tree.textAt(posix.join(folder, path.value)) === undefined
    )
      this.#miss('file', path);
  }

  #miss(kind: Outside['kind'], given: PlacedText): void {
    if (this.outside.length < MAX_CHANGES)
      this.outside.push({ kind, span: locateScalar(this.#source, given).span });
  }

  #refuse(kind: Refusal['kind'], given: PlacedText, what: string): void {
    if (this.refusals.length < MAX_CHANGES)
      this.refusals.push({ kind, span: locateScalar(this.#source, given).span, what });
  }
}

/** Says of objects that something may change them which is not followed here. */
function setUnknown(objects: readonly BuiltObject[]): void {
  for (const object of objects) object.isUnknown = true;
}

/** Whether Kustomize fetches what a path names: an address, or a repository as Git writes it. */
function isAddress(path: string): boolean {
  return /^(?:[a-z][a-z+]*::?\/\/|git::|[\w.-]+@[\w.-]+:|(?:www\.)?(?:github|gitlab|bitbucket)\.\w+[/:])|[?&](?:ref|version)=/i.test(
    path,
  );
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
