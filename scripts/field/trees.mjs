import { readdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

/** Files beside repositories that do not make their folder one. */
const BESIDE = /^(?:\.|README|.*\.sh$)/i;

/** The repositories that the folders stand for: each itself, or those in it where it holds nothing but folders. */
export function treesBelow(folders) {
  return folders.flatMap((given) => {
    const folder = resolve(given);
    const entries = readdirSync(folder, { withFileTypes: true });
    const inner = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
    const isRepository =
      entries.some(({ name }) => name === '.git') ||
      inner.length === 0 ||
      entries.some((entry) => !entry.isDirectory() && !BESIDE.test(entry.name));
    return isRepository
      ? [{ name: basename(folder), folder }]
      : inner
          .map(({ name }) => ({ name, folder: join(folder, name) }))
          .sort((a, b) => (a.name < b.name ? -1 : 1));
  });
}
