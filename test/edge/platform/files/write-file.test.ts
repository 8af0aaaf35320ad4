import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { replaceTextFile } from '../../../../src/edge/platform/files/write-file.js';

describe('replaceTextFile', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'write-file-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('writes the text and keeps the mode', async () => {
    const path = join(folder, 'a.yaml');
    writeFileSync(path, 'old');
    chmodSync(path, 0o640);
    await replaceTextFile(path, 'new\r\n');
    expect(readFileSync(path, 'utf8')).toBe('new\r\n');
    expect(statSync(path).mode & 0o777).toBe(0o640);
  });

  it('changes what a symbolic link points to, and not the link', async () => {
    const path = join(folder, 'a.yaml');
    writeFileSync(path, 'old');
    symlinkSync('a.yaml', join(folder, 'link.yaml'));
    await replaceTextFile(join(folder, 'link.yaml'), 'new');
    expect(readFileSync(path, 'utf8')).toBe('new');
    expect(readlinkSync(join(folder, 'link.yaml'))).toBe('a.yaml');
  });

  it('leaves nothing behind when it fails', async () => {
    await expect(replaceTextFile(join(folder, 'none.yaml'), 'new')).rejects.toThrow(/ENOENT/);
    expect(readdirSync(folder)).toEqual([]);
  });
});
