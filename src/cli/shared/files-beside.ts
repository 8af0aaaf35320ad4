import { dirname, join, normalize } from 'node:path';
import { readWholeFile } from '../../edge/platform/files/file-watcher.js';
import type { GivenFile } from '../../tools/manifests/lint/config/tree-files.js';
import { generatorFilesIn } from '../../tools/manifests/lint/kustomize/generator-files.js';
import { installFilesOf } from '../../tools/manifests/lint/launches/installed-version.js';
import { envFilesIn } from '../../tools/manifests/lint/readers/compose.js';
import { buildFilesIn } from '../../tools/manifests/lint/readers/compose-builds.js';
import type { ManifestFile } from './manifest-files.js';

/** Files whose neighbours are looked for: a repository has some hundred compose files and kustomizations. */
const MAX_NAMING = 2_000;

/** A large environment file has some hundred lines. */
const MAX_FILE_BYTES = 1024 * 1024;

/**
 * Files that others read, which no folder shows: of a compose file `.env` beside it, and those that `env_file`
 * names, and the container files that it builds; of a kustomization those of which it generates ConfigMaps. Only such below or beside the naming
 * file are opened. Of a script that starts Dynamo, those that say what is installed, from its folder up to the one that all files are in. One that
 * cannot be read is left out: what it says is unknown.
 */
export async function readFilesBeside(files: readonly ManifestFile[]): Promise<readonly GivenFile[]> {
  const found = new Map<string, GivenFile>();
  const known = new Set(files.map(({ file }) => normalize(file)));
  const top = commonFolder(files.map(({ file }) => dirname(normalize(file))));
  const naming = files
    .map(({ file, text }) => ({
      paths: [
        ...[...envFilesIn(text), ...buildFilesIn(text), ...generatorFilesIn(file, text)].map((name) =>
          join(dirname(file), name),
        ),
        ...installFilesOf({ file, text }, top),
      ],
    }))
    .filter(({ paths }) => paths.length > 0);
  for (const { paths } of naming.slice(0, MAX_NAMING)) {
    for (const path of paths) {
      if (found.has(path) || known.has(path)) continue;
      try {
        const text = new TextDecoder('utf-8', { fatal: true }).decode(
          await readWholeFile(path, MAX_FILE_BYTES),
        );
        found.set(path, { file: path, text, paths: [path] });
      } catch {
        // Absent, or no text: Compose or Kustomize itself would say so.
      }
    }
  }
  return [...found.values()];
}

/** The folder that all of some folders are in. */
function commonFolder([first = '.', ...rest]: readonly string[]): string {
  let common = first;
  for (const folder of rest)
    while (folder !== common && !folder.startsWith(join(common, '/')) && common !== dirname(common))
      common = dirname(common);
  return common;
}
