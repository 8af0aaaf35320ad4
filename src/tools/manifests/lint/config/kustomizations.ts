import { posix } from 'node:path';
import type { YAMLMap } from 'yaml';
import { addTo } from '../../../../core/data/group-by.js';
import type { PlacedText } from '../../pod-site.js';
import type { YamlAccess } from '../../yaml-access.js';
import { type InnerText, partOf, scalarText } from '../text/scalar-text.js';
import type { TextSource } from '../text/span.js';
import type { ConfigMap } from './config-map.js';
import type { TreeFiles } from './tree-files.js';

/** What one kustomization puts together, seen from one of its files. */
export interface Together {
  /** The folder of the kustomization. */
  readonly folder: string;
  /** Whether it names the file itself, and not a kustomization that does. */
  readonly isDirect: boolean;
  /** Whether it changes what its resources say: then what they say themselves is not what runs. */
  readonly hasPatches: boolean;
  /** Normalised paths. */
  readonly files: ReadonlySet<string>;
  /** The ConfigMaps of a name that its generators make. */
  generated(name: string): readonly ConfigMap[];
}

/** A `kustomization.yaml` as it is written. */
interface Kustomization {
  readonly folder: string;
  /** Its own. */
  readonly file: string;
  /** A part of other kustomizations, which builds nothing by itself. */
  readonly isComponent: boolean;
  /** Paths of files and folders. */
  readonly resources: readonly string[];
  readonly patches: readonly string[];
  readonly hasPatches: boolean;
  readonly generators: ReadonlyMap<string, readonly Generated[]>;
}

/** Makes a ConfigMap, always the same one: its files may be read after the kustomization. */
type Generated = () => ConfigMap;

/** Kustomizations that build on each other: more than this is a circle. */
const MAX_DEPTH = 16;

/** Files that all kustomizations of a set have together, each counted: a repository has some thousands. */
const MAX_FILES = 200_000;

const FILE_NAME = /(?:^|\/)kustomization(?:\.ya?ml)?$/i;

/** Whether a file is a kustomization by its name. */
export function isKustomizationFile(file: string): boolean {
  return FILE_NAME.test(file);
}

/** The kustomizations of a set of manifests. */
export class Kustomizations {
  readonly #all = new Map<string, Kustomization>();
  readonly #patches = new Set<string>();
  /** Folders whose result another tool changes. */
  readonly #changedElsewhere = new Set<string>();
  readonly #tree: TreeFiles;
  #around: ReadonlyMap<string, readonly Together[]> | undefined;

  constructor(tree: TreeFiles) {
    this.#tree = tree;
  }

  /** Keeps an object, if it is a kustomization. */
  add(source: TextSource, access: YamlAccess, object: YAMLMap): void {
    const kind = access.text(object, 'kind')?.value;
    const group = access.text(object, 'apiVersion')?.value.split('/')[0] ?? '';
    for (const path of pathsChangedBy(access, object, group))
      this.#changedElsewhere.add(posix.normalize(path));
    if (group.startsWith('kustomize.toolkit.')) return;
    if (
      kind !== 'Kustomization' &&
      kind !== 'Component' &&
      !(kind === undefined && isKustomizationFile(source.file))
    )
      return;
    const folder = posix.normalize(posix.dirname(source.file));
    const paths = (key: string): readonly string[] =>
      access.texts(object, key).map(({ value }) => posix.join(folder, value));
    const listed = [...access.maps(object, 'patches'), ...access.maps(object, 'patchesJson6902')];
    const patches = [
      ...listed
        .flatMap((one) => access.text(one, 'path')?.value ?? [])
        .map((path) => posix.join(folder, path)),
      ...paths('patchesStrategicMerge'),
    ];
    for (const path of patches) this.#patches.add(path);
    this.#all.set(folder, {
      folder,
      file: posix.normalize(source.file),
      isComponent: kind === 'Component',
      resources: ['resources', 'bases', 'components'].flatMap((key) => paths(key)),
      patches,
      hasPatches: patches.length > 0 || listed.length > 0,
      generators: this.#generators(source, access, object, folder),
    });
    this.#around = undefined;
  }

  /** Whether Flux or Argo CD changes what a folder makes: what stands there is not what runs. */
  isChangedElsewhere(folder: string): boolean {
    const own = posix.normalize(folder);
    return [...this.#changedElsewhere].some((path) => own === path || own.endsWith(`/${path}`));
  }

  /** Whether a file changes objects of other files. */
  isPatch(file: string): boolean {
    return this.#patches.has(posix.normalize(file));
  }

  /** The file of the kustomization in a folder. */
  fileAt(folder: string): string | undefined {
    return this.#all.get(posix.normalize(folder).replace(/\/+$/, ''))?.file;
  }

  /** The folders of the kustomizations that no other one builds on, with all files that they have. */
  roots(): readonly {
    readonly folder: string;
    readonly files: ReadonlySet<string>;
    /** Whether a base of it is not among the files. */
    readonly isMissing: boolean;
  }[] {
    const named = new Set(
      [...this.#all.values()].flatMap(({ resources }) => resources.map((path) => path.replace(/\/+$/, ''))),
    );
    return [...this.#all.values()]
      .filter(({ folder, isComponent }) => !isComponent && !named.has(folder))
      .map((one) => {
        const parts = this.#partsOf(one, 0, new Set());
        const files = parts.flatMap(({ file, resources, patches }) => [file, ...resources, ...patches]);
        const isMissing = parts.some(({ resources }) =>
          resources.some((path) => this.fileAt(path) === undefined && this.#tree.textAt(path) === undefined),
        );
        return { folder: one.folder, files: new Set(files), isMissing };
      });
  }

  /** The kustomizations that a file is a part of. */
  around(file: string): readonly Together[] {
    this.#around ??= this.#readAround();
    return this.#around.get(posix.normalize(file)) ?? [];
  }

  #readAround(): ReadonlyMap<string, readonly Together[]> {
    const around = new Map<string, Together[]>();
    let count = 0;
    for (const one of this.#all.values()) {
      const parts = this.#partsOf(one, 0, new Set());
      const files = new Set(parts.flatMap(({ resources, patches }) => [...resources, ...patches]));
      const direct = new Set([...one.resources, ...one.patches]);
      count += files.size;
      if (count > MAX_FILES) break;
      const common = {
        folder: one.folder,
        hasPatches: parts.some(({ hasPatches }) => hasPatches),
        files,
        generated: (name: string) =>
          parts.flatMap(({ generators }) => (generators.get(name) ?? []).map((make) => make())),
      };
      for (const file of files) {
        const list = around.get(file) ?? [];
        list.push({ ...common, isDirect: direct.has(file) });
        around.set(file, list);
      }
    }
    return around;
  }

  /** A kustomization, and those that it builds on. */
  #partsOf(one: Kustomization, depth: number, seen: Set<Kustomization>): readonly Kustomization[] {
    if (depth > MAX_DEPTH || seen.has(one)) return [];
    seen.add(one);
    const below = one.resources.flatMap((path) => this.#all.get(path.replace(/\/+$/, '')) ?? []);
    return [one, ...below.flatMap((next) => this.#partsOf(next, depth + 1, seen))];
  }

  #generators(
    source: TextSource,
    access: YamlAccess,
    object: YAMLMap,
    folder: string,
  ): ReadonlyMap<string, readonly Generated[]> {
    const found = new Map<string, Generated[]>();
    for (const generator of access.maps(object, 'configMapGenerator')) {
      const name = access.text(generator, 'name')?.value;
      if (name === undefined) continue;
      let made: ConfigMap | undefined;
      const make = (): ConfigMap => {
        made ??= this.#generate(source, access, generator, folder);
        return made;
      };
      addTo(found, name, make);
    }
    return found;
  }

  #generate(source: TextSource, access: YamlAccess, generator: YAMLMap, folder: string): ConfigMap {
    const texts = new Map<string, InnerText>();
    let isPartial = access.get(generator, 'envs') !== undefined || access.get(generator, 'env') !== undefined;
    for (const literal of access.texts(generator, 'literals')) {
      const [key, text] = literalOf(source, literal);
      if (key !== undefined) texts.set(key, text);
    }
    for (const { value } of access.texts(generator, 'files')) {
      const [key, path] = value.includes('=') ? splitOnce(value) : [posix.basename(value), value];
      const text = this.#tree.besideAt(posix.join(folder, path));
      if (text === undefined) isPartial = true;
      else texts.set(key, text);
    }
    return { texts, isPartial };
  }
}

/** Fields of a Kustomization of Flux, and of a source of Argo CD, that change objects. */
const CHANGING_FIELDS: readonly string[] = [
  ...['patches', 'patchesStrategicMerge', 'patchesJson6902', 'images', 'postBuild', 'components'],
];

/** The folders whose objects a Kustomization of Flux or an Application of Argo CD changes on their way to the cluster. */
function pathsChangedBy(access: YamlAccess, object: YAMLMap, group: string): readonly string[] {
  const spec = access.map(object, 'spec');
  const changes = (map: YAMLMap | undefined): boolean =>
    CHANGING_FIELDS.some((field) => access.get(map, field) !== undefined);
  const pathOf = (map: YAMLMap | undefined): readonly string[] => {
    const path = access.text(map, 'path')?.value;
    return path === undefined || /^[./]*$/.test(path) ? [] : [path.replace(/^\/+|\/+$/g, '')];
  };
  if (group === 'kustomize.toolkit.fluxcd.io') return changes(spec) ? pathOf(spec) : [];
  if (group !== 'argoproj.io') return [];
  const sources = [access.map(spec, 'source'), ...access.maps(spec, 'sources')];
  return sources.flatMap((source) => (changes(access.map(source, 'kustomize')) ? pathOf(source) : []));
}

/** `KEY=value`. */
function literalOf(source: TextSource, literal: PlacedText): readonly [string | undefined, InnerText] {
  const text = scalarText(source, literal);
  const at = literal.value.indexOf('=');
  return at === -1
    ? [undefined, text]
    : [literal.value.slice(0, at), partOf(text, at + 1, literal.value.length)];
}

function splitOnce(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
}
