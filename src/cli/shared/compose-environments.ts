import { dirname, join } from 'node:path';
import { readWholeFile } from '../../edge/platform/files/file-watcher.js';
import type { GivenFile } from '../../tools/manifests/lint/config/tree-files.js';
import { envFilesIn } from '../../tools/manifests/lint/readers/compose.js';
import type { ManifestFile } from './manifest-files.js';

/** Compose files whose environment is looked for: a repository has some dozens. */
const MAX_COMPOSE_FILES = 1_000;

/** A large environment file has some hundred lines. */
const MAX_ENV_FILE_BYTES = 1024 * 1024;

/**
 * The environment files of compose files, which no folder shows: `.env` beside
 * each, and those that `env_file` names below or beside it. One that cannot be read is left out: its variables are unknown.
 */
export async function readComposeEnvironments(files: readonly ManifestFile[]): Promise<readonly GivenFile[]> {
  const found = new Map<string, GivenFile>();
  const compose = files
    .map(({ file, text }) => ({ file, names: envFilesIn(text) }))
    .filter(({ names }) => names.length > 0);
  for (const { file, names } of compose.slice(0, MAX_COMPOSE_FILES)) {
    for (const name of names) {
      const path = join(dirname(file), name);
      if (found.has(path)) continue;
      try {
        const text = new TextDecoder('utf-8', { fatal: true }).decode(
          await readWholeFile(path, MAX_ENV_FILE_BYTES),
        );
        found.set(path, { file: path, text, paths: [path] });
      } catch {
        // Absent, or no text: Compose itself would say so.
      }
    }
  }
  return [...found.values()];
}
