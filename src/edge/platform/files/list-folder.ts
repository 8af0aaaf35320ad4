import { readdir } from 'node:fs/promises';

/** Most names taken from one folder: what is read there has a handful. */
const MAX_NAMES = 10_000;

/** Names of the plain files directly in a folder, sorted. Rejects with the system's error. */
export async function listFolder(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  if (entries.length > MAX_NAMES)
    throw new RangeError(`has ${entries.length} entries, at most ${MAX_NAMES} are read`);
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}
