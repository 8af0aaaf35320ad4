import { dirname, join, normalize } from 'node:path';
import { readWholeFile } from '../../edge/platform/files/file-watcher.js';
import type { GivenFile } from '../../tools/manifests/lint/config/tree-files.js';
import { generatorFilesIn } from '../../tools/manifests/lint/kustomize/generator-files.js';
import { envFilesIn } from '../../tools/manifests/lint/readers/compose.js';
import type { ManifestFile } from './manifest-files.js';

/** Files whose neighbours are looked for: a repository has some hundred compose files and kustomizations. */
const MAX_NAMING = 2_000;

/** A large environment file has some hundred lines. */
const MAX_FILE_BYTES = 1024 * 1024;

/**
 * Files that others read, which no folder shows: of a compose file `.env` beside it, and those that `env_file`
 * names; of a kustomization those of which it generates ConfigMaps. Only such below or beside the naming file are opened. One that cannot be read
 * is left out: what it says is unknown.
 */
export async function readFilesBeside(files: readonly ManifestFile[]): Promise<readonly GivenFile[]> {
  const found = new Map<string, GivenFile>();
  const known = new Set(files.map(({ file }) => normalize(file)));
  const naming = files
    .map(({ file, text }) => ({ file, names: [...envFilesIn(text), ...generatorFilesIn(file, text)] }))
    .filter(({ names }) => names.length > 0);
  for (const { file, names } of naming.slice(0, MAX_NAMING)) {
    for (const name of names) {
      const path = join(dirname(file), name);
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
