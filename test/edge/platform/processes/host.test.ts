import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Host, HostError, openHost } from '../../../../src/edge/platform/processes/host.js';

const never = new AbortController().signal;
let folder = '';
let recorded: Host;
const machine = (options: { commandTimeoutMs?: number; maxOutputBytes?: number } = {}): Host =>
  openHost({ environment: {}, ...options });
const node = (script: string): readonly string[] => ['-e', script];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'host-'));
  const root = join(folder, 'root');
  mkdirSync(join(root, 'commands'), { recursive: true });
  mkdirSync(join(root, 'etc/topology/..data'), { recursive: true });
  writeFileSync(join(root, 'commands/nvidia-smi topo -m.txt'), 'matrix');
  writeFileSync(join(root, 'commands/big.txt'), 'x'.repeat(2_000));
  writeFileSync(join(root, 'etc/topology/..data/zone'), 'a');
  writeFileSync(join(root, 'large'), 'x'.repeat(1_048_577));
  writeFileSync(join(folder, 'secret'), 'outside');
  symlinkSync('..data/zone', join(root, 'etc/topology/zone'));
  symlinkSync('../secret', join(root, 'out'));
  recorded = openHost({ rootFolder: root, environment: { A: 'b' }, maxOutputBytes: 1_000 });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a recorded host', () => {
  it('answers files, folders and links below its root, and keeps the environment', async () => {
    expect(await recorded.readFile('/etc/topology/zone')).toBe('a');
    expect(await recorded.listFolder('/etc/topology')).toEqual(['..data', 'zone']);
    expect(await recorded.readLink('/etc/topology/zone')).toBe('..data/zone');
    expect(recorded.environment).toEqual({ A: 'b' });
  });

  it('answers commands from its recordings and runs nothing', async () => {
    expect(await recorded.run('nvidia-smi', ['topo', '-m'], never)).toEqual({
      stdout: 'matrix',
      stderr: '',
      exitCode: 0,
    });
    expect(await recorded.run('node', ['--version'], never)).toBeUndefined();
    await expect(recorded.run('big', [], never)).rejects.toMatchObject({ code: 'too_large' });
  });

  it('takes what is not there for absent', async () => {
    expect(await recorded.readFile('/nothing')).toBeUndefined();
    expect(await recorded.readFile('/large/below-a-file')).toBeUndefined();
    expect(await recorded.listFolder('/nothing')).toEqual([]);
    expect(await recorded.readLink('/nothing')).toBeUndefined();
    expect(await recorded.readLink('/large')).toBeUndefined();
  });

  it('refuses a file past the limit, a folder, and a link that leads out', async () => {
    await expect(recorded.readFile('/large')).rejects.toThrow(
      '/large: is longer than 1048576 bytes, which is the limit',
    );
    await expect(recorded.readFile('/etc')).rejects.toThrow('/etc: is not a plain file');
    await expect(recorded.readFile('/out')).rejects.toMatchObject({ code: 'unreadable' });
    await expect(recorded.readFile('/out')).rejects.toBeInstanceOf(HostError);
    await expect(recorded.readFile('/../secret')).resolves.toBeUndefined();
  });
});

describe('the machine', () => {
  it('reads files of the kernel, whose size the kernel does not state', async () => {
    expect(await machine().readFile('/proc/self/status')).toContain('Pid:');
    await expect(machine().readFile('/dev/zero')).rejects.toThrow('/dev/zero: is not a plain file');
  });

  it('runs a program and passes on what it printed and how it ended', async () => {
    const script = "console.log('out'); console.error('err'); process.exitCode = 9";
    expect(await machine().run(process.execPath, node(script), never)).toEqual({
      stdout: 'out\n',
      stderr: 'err\n',
      exitCode: 9,
    });
  });

  it('takes a program that is not on PATH for absent', async () => {
    expect(await machine().run('no-such-program-here', [], never)).toBeUndefined();
  });

  it('gives no program to a shell', async () => {
    const output = await machine().run(
      process.execPath,
      [...node('console.log(process.argv[1])'), '$(id); `id`'],
      never,
    );
    expect(output?.stdout).toBe('$(id); `id`\n');
  });

  it('closes the input of a program that reads it', async () => {
    const script = "process.stdin.on('end', () => console.log('end')).resume()";
    expect((await machine().run(process.execPath, node(script), never))?.stdout).toBe('end\n');
  });

  it('ends a program that hangs', async () => {
    const hanging = machine({ commandTimeoutMs: 100 }).run(
      process.execPath,
      node('setInterval(() => 0, 1e6)'),
      never,
    );
    await expect(hanging).rejects.toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('did not end within 100 ms'),
    });
  });

  it('ends a program that prints without end', async () => {
    const script =
      "const write = () => { while (process.stdout.write('x'.repeat(65536))); process.stdout.once('drain', write) }; write()";
    const printing = machine({ maxOutputBytes: 1_000_000 }).run(process.execPath, node(script), never);
    await expect(printing).rejects.toMatchObject({
      code: 'too_large',
      message: expect.stringContaining('printed more than 1000000 bytes, which is the limit'),
    });
  });

  it('ends a program when the reading is over, and starts none after that', async () => {
    const over = new AbortController();
    const host = machine();
    const hanging = host.run(process.execPath, node('setInterval(() => 0, 1e6)'), over.signal);
    over.abort();
    await expect(hanging).rejects.toMatchObject({ code: 'aborted' });
    await expect(host.run(process.execPath, ['--version'], over.signal)).rejects.toMatchObject({
      code: 'aborted',
    });
  });

  it('does not start a program again while an earlier run does not end', async () => {
    const over = new AbortController();
    const host = machine();
    const hanging = host.run(process.execPath, node('setInterval(() => 0, 1e6)'), over.signal);
    const stopped = expect(hanging).rejects.toMatchObject({ code: 'aborted' });
    over.abort();
    // Killed a moment ago, its end cannot have been seen yet.
    const again = expect(host.run(process.execPath, ['--version'], never)).rejects.toThrow(
      'an earlier run does not end',
    );
    await Promise.all([stopped, again]);
    const version = (): Promise<unknown> =>
      host.run(process.execPath, ['--version'], never).catch(() => undefined);
    await expect.poll(version, { timeout: 5_000 }).toMatchObject({ exitCode: 0 });
  });

  it('names a program that cannot be started', async () => {
    const path = join(folder, 'not-executable');
    writeFileSync(path, '');
    chmodSync(path, 0o644);
    await expect(machine().run(path, [], never)).rejects.toMatchObject({ code: 'failed' });
  });
});
