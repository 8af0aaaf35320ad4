import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { checkProgram, startChild } from '../../../../src/edge/platform/processes/child-process.js';

const folder = mkdtempSync(join(tmpdir(), 'kv-accord-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string, mode: number): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

const node = (code: string): ReturnType<typeof startChild> => startChild(process.execPath, ['-e', code], {});

describe('a program that is started', () => {
  it.each([0, 7, 255])('ends with its own code %i', async (code) => {
    expect(await (await node(`process.exit(${code})`)).exited).toBe(code);
  });

  it('ends with 128+n by signal n, and takes no harm from signals after its end', async () => {
    const child = await node('setInterval(() => {}, 1e6)');
    const listeners = process.listenerCount('exit');
    child.kill('SIGKILL');
    expect(await child.exited).toBe(137);
    child.kill('SIGTERM');
    expect(process.listenerCount('exit')).toBe(listeners - 1);
  });

  it('gets SIGTERM when this process ends first', async () => {
    const before = process.listeners('exit');
    const child = await node('setInterval(() => {}, 1e6)');
    const added = process.listeners('exit').filter((listener) => !before.includes(listener));
    expect(added).toHaveLength(1);
    added[0]?.(1);
    expect(await child.exited).toBe(143);
  });

  it('has the environment that it is given and no other', async () => {
    const code = "process.exit(process.env.SIZE === '32' && process.env.HOME === undefined ? 0 : 1)";
    const child = await startChild(process.execPath, ['-e', code], { SIZE: '32', LEFT_OUT: undefined });
    expect(await child.exited).toBe(0);
  });
});

describe('a program that cannot be started', () => {
  it.each([
    ['no-such-program-anywhere', 'not found on PATH'],
    [join(folder, 'gone'), 'there is no such file, or the interpreter'],
    [file('bad', '#!/no/such/interpreter\n', 0o755), 'there is no such file, or the interpreter'],
    [file('text', 'hello\n', 0o644), 'not an executable file'],
    [folder, 'not an executable file'],
    [join(file('flat', '', 0o644), 'x'), 'a part of its path is not a folder'],
    ['', 'it is no name of a program'],
    ['a\0b', 'it is no name of a program'],
  ])('%j is reported in words', async (command, words) => {
    const listeners = process.listenerCount('exit');
    await expect(startChild(command, [], { PATH: process.env['PATH'] })).rejects.toMatchObject({
      name: 'SpawnError',
      message: expect.stringContaining(`cannot run "${command}": ${words}`),
    });
    expect(process.listenerCount('exit')).toBe(listeners);
  });

  it.each([
    ['no-such-program-anywhere', 'not found on PATH'],
    [join(folder, 'gone'), 'there is no such file'],
    [file('text', 'hello\n', 0o644), 'not an executable file'],
    [folder, 'not an executable file'],
    [join(file('flat', '', 0o644), 'x'), 'a part of its path is not a folder'],
    ['a\0b', 'it is no name of a program'],
  ])('%j is known before the start', (command, words) => {
    const check = (): void => checkProgram(command, process.env['PATH']);
    expect(check).toThrow(`cannot run "${command}": ${words}`);
  });

  it('what can be started is not refused before: by PATH, by a path, or where no PATH is known', () => {
    expect(() => checkProgram('sh', `/nowhere:${process.env['PATH']}`)).not.toThrow();
    expect(() => checkProgram(process.execPath, undefined)).not.toThrow();
    expect(() => checkProgram('no-such-program-anywhere', undefined)).not.toThrow();
  });

  it('a command line that is too long is reported in words', async () => {
    const long = ['x'.repeat(200_000)];
    await expect(startChild(process.execPath, long, {})).rejects.toThrow('too long');
  });
});
