import { open, realpath, rename, rm, stat } from 'node:fs/promises';

/**
 * Replaces the content of a file that is there, whole and in one step: a reader
 * sees the old text or the new one, and what fails leaves the old one. The
 * file's mode stays, and a symbolic link goes on pointing where it did. Rejects
 * with the system's error.
 */
export async function replaceTextFile(path: string, text: string): Promise<void> {
  const target = await realpath(path);
  const { mode } = await stat(target);
  const draft = `${target}.kv-accord-${process.pid}`;
  try {
    const file = await open(draft, 'wx', mode & 0o777);
    try {
      await file.writeFile(text);
      await file.chmod(mode & 0o777);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, target);
  } catch (error) {
    // The first error is the one to report: what fails here fails by it.
    await rm(draft, { force: true }).catch(() => undefined);
    throw error;
  }
}
