import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder that no other user can look into. */
export interface PrivateFolder {
  readonly path: string;
  /** Removes it with all that is in it. */
  remove(): Promise<void>;
}

/** Makes one in the system's folder for temporary files; its path is short enough for a Unix socket in it. */
export async function createPrivateFolder(): Promise<PrivateFolder> {
  // mkdtemp makes it with mode 0700.
  const path = await mkdtemp(join(tmpdir(), 'kv-accord-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
