import { posix } from 'node:path';
import type { YAMLMap } from 'yaml';
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
   * The variables that a container gets by `envFrom`. Those of a ConfigMap that
   * is not here are unseen; Secrets are not looked at, and hold no block sizes.
   */
  environmentOf(
    access: YamlAccess,
    container: YAMLMap,
    asking: Asking,
  ): { readonly entries: ReadonlyMap<string, Located>; readonly hasUnseen: boolean } {
    const entries = new Map<string, Located>();
    let hasUnseen = false;
    for (const from of access.maps(container, 'envFrom')) {
      const name = access.text(access.map(from, 'configMapRef'), 'name')?.value;
      if (name === undefined) continue;
      const found = this.find(asking, name);
      hasUnseen ||= found === undefined || found.isPartial;
      const prefix = access.text(from, 'prefix')?.value ?? '';
      for (const [key, text] of found?.texts ?? []) entries.set(`${prefix}${key}`, locate(text));
    }
    return { entries, hasUnseen };
  }

  /** The value of a variable that has it by `valueFrom.configMapKeyRef`. */
  valueOf(access: YamlAccess, entry: YAMLMap, asking: Asking): Located | undefined {
    const from = access.map(entry, 'valueFrom', 'configMapKeyRef');
    const name = access.text(from, 'name')?.value;
    const key = access.text(from, 'key')?.value;
    const text =
      name === undefined || key === undefined ? undefined : this.find(asking, name)?.texts.get(key);
    return text === undefined ? undefined : locate(text);
  }

  /** The ConfigMap text that a container sees as the file at a path. */
  fileOf(
    access: YamlAccess,
    pod: YAMLMap | undefined,
    container: YAMLMap,
    asking: Asking,
    path: string,
  ): InnerText | undefined {
    for (const mount of access.maps(container, 'volumeMounts')) {
      const at = access.text(mount, 'mountPath')?.value.replace(/\/+$/, '');
      const volumeName = access.text(mount, 'name')?.value;
      const subPath = access.text(mount, 'subPath')?.value;
      const inside =
        subPath !== undefined && path === at
          ? subPath
          : at !== undefined && path.startsWith(`${at}/`)
            ? path.slice(at.length + 1)
            : undefined;
      if (inside === undefined) continue;
      const volume = access
        .maps(pod, 'volumes')
        .find((one) => access.text(one, 'name')?.value === volumeName);
      const projected = access.maps(access.map(volume, 'projected'), 'sources');
      for (const source of [volume, ...projected]) {
        const configMap = access.map(source, 'configMap');
        const name = access.text(configMap, 'name')?.value;
        if (name === undefined) continue;
        const item = access
          .maps(configMap, 'items')
          .find((one) => access.text(one, 'path')?.value === inside);
        const key = access.text(item, 'key')?.value ?? inside;
        const found = this.find(asking, name)?.texts.get(key);
        if (found !== undefined) return found;
      }
    }
    return undefined;
  }
}

function onlyOne(found: readonly ConfigMap[]): ConfigMap | undefined {
  return found.length === 1 ? found[0] : undefined;
}

function locate(text: InnerText): Located {
  return { value: text.value, span: text.spanOf(0, text.value.length) };
}
