import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openByteSource } from '../../../../src/edge/platform/streams/byte-source.js';

describe('a file as a source of bytes', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kv-accord-bytes-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('gives all of it in pieces, and its size before', async () => {
    const path = join(folder, 'log');
    const bytes = Buffer.alloc(2_500_000, 'abcdefg');
    await writeFile(path, bytes);
    const { totalBytes, pieces } = await openByteSource(path);
    const read: Buffer[] = [];
    for await (const piece of pieces) read.push(Buffer.from(piece));
    expect(totalBytes).toBe(bytes.length);
    expect(read.length).toBeGreaterThan(1);
    expect(Buffer.concat(read).equals(bytes)).toBe(true);
  });

  it.skipIf(process.platform === 'win32')(
    'waits for the writer of a named pipe, and reads until it ends',
    async () => {
      const path = join(folder, 'pipe');
      execFileSync('mkfifo', [path]);
      const { totalBytes, pieces } = await openByteSource(path);
      const read: Buffer[] = [];
      const whole = (async () => {
        for await (const piece of pieces) read.push(Buffer.from(piece));
      })();
      await writeFile(path, 'a line\n'.repeat(100_000));
      await whole;
      expect(totalBytes).toBeUndefined();
      expect(Buffer.concat(read).toString()).toBe('a line\n'.repeat(100_000));
    },
  );

  it.skipIf(process.platform === 'win32')('leaves a named pipe that nobody writes to', async () => {
    const path = join(folder, 'silent');
    execFileSync('mkfifo', [path]);
    const { pieces } = await openByteSource(path);
    const iterator = pieces[Symbol.asyncIterator]();
    const next = iterator.next();
    await iterator.return?.();
    await expect(next).rejects.toMatchObject({ code: 'ERR_STREAM_PREMATURE_CLOSE' });
  });

  it('says what is wrong with a path', async () => {
    await expect(openByteSource(join(folder, 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(openByteSource(folder)).rejects.toMatchObject({ code: 'EISDIR' });
  });
});
