import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let folder: string | undefined;

/** A folder of this test file's own, for logs and small files; its path is in every failure's message. */
export function scratchFolder(): string {
  if (folder === undefined) {
    const parent = process.env['KV_ACCORD_PEER_LOGS'] ?? tmpdir();
    mkdirSync(parent, { recursive: true });
    folder = mkdtempSync(join(parent, 'kv-accord-peers-'));
  }
  return folder;
}
