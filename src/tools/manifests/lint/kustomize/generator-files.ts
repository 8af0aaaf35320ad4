import { posix } from 'node:path';
import { isMap } from 'yaml';
import { readSourceFile } from '../../source-file.js';
import { YamlAccess } from '../../yaml-access.js';
import { isKustomizationFile } from '../config/kustomizations.js';

/** Files that one kustomization generates ConfigMaps of. */
const MAX_FILES = 100;

/** The files below a kustomization, or beside it, of which it generates ConfigMaps; those of its Secrets are never read. */
export function generatorFilesIn(file: string, text: string): readonly string[] {
  if (!isKustomizationFile(file) || !text.includes('configMapGenerator')) return [];
  const named = readSourceFile(file, text).documents.flatMap((document) => {
    const access = new YamlAccess(document);
    const root = isMap(document.contents) ? document.contents : undefined;
    return access
      .maps(root, 'configMapGenerator')
      .flatMap((generator) => [
        ...access.texts(generator, 'envs').map(({ value }) => value),
        ...(access.text(generator, 'env')?.value ?? '').split('\n').filter((path) => path !== ''),
        ...access.texts(generator, 'files').map(({ value }) => value.slice(value.indexOf('=') + 1)),
      ]);
  });
  const inside = named.filter((path) => !posix.isAbsolute(path) && !/(?:^|\/)\.\.(?:\/|$)/.test(path));
  return [...new Set(inside)].slice(0, MAX_FILES);
}
