import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The regular files below a folder with one of these endings, in order. Hidden folders, node_modules and links are left out. */
export function filesBelow(folder, extensions) {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory())
        return entry.name.startsWith('.') || entry.name === 'node_modules'
          ? []
          : filesBelow(path, extensions);
      return entry.isFile() && extensions.some((extension) => entry.name.endsWith(extension)) ? [path] : [];
    });
}
