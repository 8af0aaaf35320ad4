import { existsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createPrivateFolder } from '../../../src/edge/platform/private-folder.js';

describe('a private folder', () => {
  it('is for this user alone, and goes with its content', async () => {
    const folder = await createPrivateFolder();
    expect(dirname(folder.path)).toBe(tmpdir());
    expect(statSync(folder.path).mode & 0o777).toBe(0o700);
    await folder.remove();
    expect(existsSync(folder.path)).toBe(false);
  });

  it('is made in the next place where the first cannot be written to', async () => {
    const folder = await createPrivateFolder(['/proc', tmpdir()]);
    expect(dirname(folder.path)).toBe(tmpdir());
    await folder.remove();
  });

  it('says why the first place refuses when none can be written to', async () => {
    await expect(createPrivateFolder(['/proc/1', '/proc/2'])).rejects.toThrow('/proc/1/kv-accord-');
  });
});
