import { posix } from 'node:path';
import type { YAMLMap } from 'yaml';
import type { EnvEntry, EnvSource, Mount, Volume } from '../../pod-site.js';
import type { YamlAccess } from '../../yaml-access.js';
import { type InnerText, scalarText } from '../text/scalar-text.js';
import type { Located, TextSource } from '../text/span.js';
import type { ConfigMap } from './config-map.js';
import { areNear, folderOf } from './folders.js';
import type { Kustomizations } from './kustomizations.js';

interface Entry extends ConfigMap {
  readonly file: string;
  readonly namespace: string | undefined;
}

/** A place that names a ConfigMap. */
export interface Asking {
  /** The file that it is in. */
  readonly file: string;
  readonly namespace: string | undefined;
}

/** Names of Secrets that hold a token, a key or a password, and no settings. */
const OF_CREDENTIALS =
  /\b(?:hf|hugging-?face|ngc|aws|s3|gcp|gcs|minio|wandb|tls|api)\b|token|credential|cert|password|access-?key|api-?key|registry|pull|auth/i;

/**
 * The ConfigMaps of a set of manifests. One name may stand for several of them
 * in a set: it means the one in the same file, else the one in the same kustomization, else the
 * one that is near. Where several are meant alike, none is.
 */
export class ConfigMaps {
  readonly #entries = new Map<string, Entry[]>();
  readonly #kustomizations: Kustomizations;

  constructor(kustomizations: Kustomizations) {
    this.#kustomizations = kustomizations;
  }

  /** Keeps an object, if it is a ConfigMap; `isPartial` where it may have further texts. */
  add(source: TextSource, access: YamlAccess, object: YAMLMap, isPartial = false): void {
    if (access.text(object, 'kind')?.value !== 'ConfigMap') return;
    const metadata = access.map(object, 'metadata');
    const name = access.text(metadata, 'name')?.value ?? '';
    const texts = access.textEntries(access.map(object, 'data'));
    const entries = this.#entries.get(name) ?? [];
    entries.push({
      file: source.file,
      namespace: access.text(metadata, 'namespace')?.value,
      texts: new Map(texts.map(({ key, value }) => [key.value, scalarText(source, value)])),
      isPartial,
    });
    this.#entries.set(name, entries);
  }

  /** What a name stands for at a place; undefined for what is not in these files, and where it is not known which is meant. */
  find({ file, namespace }: Asking, name: string): ConfigMap | undefined {
    const named = this.#entries.get(name) ?? [];
    const exact = named.filter((one) => one.namespace === namespace && namespace !== undefined);
    const all =
      exact.length > 0
        ? exact
        : named.filter((one) => one.namespace === undefined || namespace === undefined);
    const own = all.filter((one) => one.file === file);
    if (own.length > 0) return onlyOne(own);
    const together = this.#kustomizations.around(file);
    if (together.length > 0) {
      for (const scopes of [together.filter(({ isDirect }) => isDirect), together]) {
        const found: readonly ConfigMap[] = [
          ...all.filter((one) => scopes.some(({ files }) => files.has(posix.normalize(one.file)))),
          ...new Set(scopes.flatMap(({ generated }) => generated(name))),
        ];
        if (found.length > 0) return onlyOne(found);
      }
      return undefined;
    }
    const beside = all.filter((one) => folderOf(one.file) === folderOf(file));
    if (beside.length > 0) return onlyOne(beside);
    const [only] = all;
    return all.length === 1 && only !== undefined && areNear(file, only.file) ? only : undefined;
  }

  /**
   * The variables that a container gets by `envFrom`. Those of a ConfigMap that is not here are unseen, and so are
   * those of a Secret: it may hold a whole environment, unless its name says that it holds a token or the like.
   */
  environmentOf(
    sources: readonly EnvSource[],
    asking: Asking,
  ): { readonly entries: ReadonlyMap<string, Located>; readonly hasUnseen: boolean } {
    const entries = new Map<string, Located>();
    let hasUnseen = false;
    for (const { configMap, secret, prefix } of sources) {
      hasUnseen ||= secret !== undefined && !OF_CREDENTIALS.test(secret);
      if (configMap === undefined) continue;
      const found = this.find(asking, configMap);
      hasUnseen ||= found === undefined || found.isPartial;
      for (const [key, text] of found?.texts ?? []) entries.set(`${prefix}${key}`, locate(text));
    }
    return { entries, hasUnseen };
  }

  /** The value of a variable that has it by `valueFrom.configMapKeyRef`. */
  valueOf(wanted: EnvEntry['key'], asking: Asking): Located | undefined {
    const text =
      wanted === undefined ? undefined : this.find(asking, wanted.configMap)?.texts.get(wanted.key);
    return text === undefined ? undefined : locate(text);
  }

  /**
   * The ConfigMap text that a container sees as the file at a path: the deepest mount that holds the path decides, and what is
   * in it alone. `isMounted` says whether there is one: then no file of the image is meant. `key` is what it is called in a ConfigMap
   * that is not here: one that is made of files (`kubectl create configmap --from-file`) has it by the file's name.
   */
  fileOf(
    volumes: readonly Volume[],
    mounts: readonly Mount[],
    asking: Asking,
    path: string,
  ): {
    readonly text: InnerText | undefined;
    readonly isMounted: boolean;
    readonly key?: string | undefined;
  } {
    const wanted = posix.normalize(path);
    const [mount] = mounts
      .filter(({ at }) => wanted === at || wanted.startsWith(`${at}/`))
      .sort((a, b) => b.at.length - a.at.length);
    if (mount === undefined) return { text: undefined, isMounted: false };
    const inside = [mount.subPath, wanted.slice(mount.at.length + 1)].filter((part) => part !== '').join('/');
    const volume = volumes.find(({ name }) => name === mount.volume);
    const maps = volume?.configMaps ?? [];
    const found = maps.flatMap((one) => this.#keyOf(one, asking, inside));
    const [only] = maps;
    const isAbsent =
      maps.length === 1 &&
      only !== undefined &&
      !this.#entries.has(only.name) &&
      this.find(asking, only.name) === undefined;
    return { text: found.at(-1), isMounted: true, key: isAbsent ? keyAt(only, inside) : undefined };
  }

  /** What one ConfigMap of a volume has at a path: with `items` those alone. */
  #keyOf(volume: Volume['configMaps'][number], asking: Asking, inside: string): readonly InnerText[] {
    const key = keyAt(volume, inside);
    const found = key === undefined ? undefined : this.find(asking, volume.name)?.texts.get(key);
    return found === undefined ? [] : [found];
  }
}

/** The key of a ConfigMap that stands at a path of its volume. */
function keyAt({ items }: Volume['configMaps'][number], inside: string): string | undefined {
  return items.length === 0 ? inside : items.find(({ path }) => path === inside)?.key;
}

function onlyOne(found: readonly ConfigMap[]): ConfigMap | undefined {
  return found.length === 1 ? found[0] : undefined;
}

function locate(text: InnerText): Located {
  return { value: text.value, span: text.spanOf(0, text.value.length) };
}
