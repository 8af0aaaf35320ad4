import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Every file below a folder, in the order of their names. Folders called `skip` are not entered; links are not followed. */
export function filesBelow(folder, { skip } = {}) {
  const entries = readdirSync(folder, { withFileTypes: true });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === skip ? [] : filesBelow(path, { skip });
    return entry.isFile() ? [path] : [];
  });
}
