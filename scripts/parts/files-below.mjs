import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The regular files below a folder, in the order of their names. Folders whose name `skips` says so are not entered; links are not followed. */
export function filesBelow(folder, skips = () => false) {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return skips(entry.name) ? [] : filesBelow(path, skips);
      return entry.isFile() ? [path] : [];
    });
}

/** Those with one of these endings in a repository: hidden folders and `node_modules` are not entered. */
export function sourcesBelow(folder, extensions) {
  const skips = (name) => name.startsWith('.') || name === 'node_modules';
  return filesBelow(folder, skips).filter((file) => extensions.some((extension) => file.endsWith(extension)));
}
