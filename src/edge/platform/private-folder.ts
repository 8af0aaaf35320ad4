import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder that no other user can look into. */
export interface PrivateFolder {
  readonly path: string;
  /** Removes it with all that is in it. */
  remove(): Promise<void>;
}

/** Memory that every Linux container may write to, also where its root file system is read-only. */
const SHARED_MEMORY = '/dev/shm';

/**
 * Makes one in the system's folder for temporary files, or in shared memory
 * where that cannot be written to; its path is short enough for a Unix socket
 * in it. Rejects with the error of the first when neither can be written to.
 */
export async function createPrivateFolder(
  parents: readonly string[] = [tmpdir(), SHARED_MEMORY],
): Promise<PrivateFolder> {
  let first: unknown;
  for (const parent of parents) {
    try {
      // mkdtemp makes it with mode 0700.
      const path = await mkdtemp(join(parent, 'kv-accord-'));
      return { path, remove: () => rm(path, { recursive: true, force: true }) };
    } catch (error) {
      first ??= error;
    }
  }
  throw first;
}
