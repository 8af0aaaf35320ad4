import type { YAMLMap } from 'yaml';
import type { PlacedText } from '../../pod-site.js';
import { readObjects } from '../../read-pod-sites.js';
import type { SourceFile } from '../../source-file.js';
import type { YamlAccess } from '../../yaml-access.js';
import { locateScalar } from '../text/scalar-text.js';
import type { Located } from '../text/span.js';

/** A text in a ConfigMap's `data`. */
export interface ConfigText {
  readonly source: SourceFile;
  readonly text: PlacedText;
}

/** The ConfigMaps of a set of manifests. */
export class ConfigMaps {
  readonly #maps = new Map<string, ReadonlyMap<string, ConfigText>>();

  constructor(files: readonly SourceFile[]) {
    for (const source of files) {
      for (const { access, object } of readObjects(source)) {
        if (access.text(object, 'kind')?.value !== 'ConfigMap') {
          continue;
        }
        const metadata = access.map(object, 'metadata');
        const name = access.text(metadata, 'name')?.value ?? '';
        const texts = access.textEntries(access.map(object, 'data'));
        this.#maps.set(
          keyOf(access.text(metadata, 'namespace')?.value, name),
          new Map(texts.map(({ key, value }) => [key.value, { source, text: value }])),
        );
      }
    }
  }

  /** A ConfigMap's texts by their keys; undefined when it is not in these files. */
  find(namespace: string | undefined, name: string): ReadonlyMap<string, ConfigText> | undefined {
    return this.#maps.get(keyOf(namespace, name)) ?? this.#maps.get(keyOf(undefined, name));
  }

  /**
   * The variables that a container gets by `envFrom`. Those of a ConfigMap that
   * is not here are unseen; Secrets are not looked at, and hold no block sizes.
   */
  environmentOf(
    access: YamlAccess,
    container: YAMLMap,
    namespace: string | undefined,
  ): { readonly entries: ReadonlyMap<string, Located>; readonly hasUnseen: boolean } {
    const entries = new Map<string, Located>();
    let hasUnseen = false;
    for (const from of access.maps(container, 'envFrom')) {
      const name = access.text(access.map(from, 'configMapRef'), 'name')?.value;
      if (name === undefined) {
        continue;
      }
      const texts = this.find(namespace, name);
      hasUnseen ||= texts === undefined;
      const prefix = access.text(from, 'prefix')?.value ?? '';
      for (const [key, { source, text }] of texts ?? []) {
        entries.set(`${prefix}${key}`, locateScalar(source, text));
      }
    }
    return { entries, hasUnseen };
  }

  /** The ConfigMap text that a container sees as the file at a path. */
  fileOf(
    access: YamlAccess,
    pod: YAMLMap | undefined,
    container: YAMLMap,
    namespace: string | undefined,
    path: string,
  ): ConfigText | undefined {
    for (const mount of access.maps(container, 'volumeMounts')) {
      const at = access.text(mount, 'mountPath')?.value.replace(/\/+$/, '');
      const volumeName = access.text(mount, 'name')?.value;
      const volume = access
        .maps(pod, 'volumes')
        .find((one) => access.text(one, 'name')?.value === volumeName);
      const configMap = access.map(volume, 'configMap');
      const name = access.text(configMap, 'name')?.value;
      if (at === undefined || name === undefined) {
        continue;
      }
      const subPath = access.text(mount, 'subPath')?.value;
      const inside =
        subPath !== undefined && path === at
          ? subPath
          : path.startsWith(`${at}/`)
            ? path.slice(at.length + 1)
            : undefined;
      if (inside === undefined) {
        continue;
      }
      const item = access.maps(configMap, 'items').find((one) => access.text(one, 'path')?.value === inside);
      const key = access.text(item, 'key')?.value ?? inside;
      const found = this.find(namespace, name)?.get(key);
      if (found !== undefined) {
        return found;
      }
    }
    return undefined;
  }
}

function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}
