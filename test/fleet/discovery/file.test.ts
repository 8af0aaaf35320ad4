import { mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { FileSource } from '../../../src/fleet/discovery/file.js';
import { readWorkerList } from '../../../src/fleet/discovery/read-worker-list.js';
import { FakeClock } from '../../support/fake-clock.js';
import { runSource } from './source-recorder.js';

describe('a file of workers', () => {
  const expected = [
    { target: '10.0.0.5:50061', address: '10.0.0.5:50061' },
    { target: 'worker-b', address: '[fd00::6]:50061', draining: true },
    { target: 'unix:/run/c.sock', address: 'unix:/run/c.sock' },
  ];

  it('is read as YAML', () => {
    const text = [
      '# the fleet',
      '- 10.0.0.5:50061',
      '- target: worker-b',
      '  address: "[fd00:0::6]:50061"',
      '  draining: true',
      '- {address: unix:/run/c.sock, draining: false}',
    ].join('\n');
    expect(readWorkerList(text, 'f')).toEqual(expected);
  });

  it('is read as JSON, byte order mark and all', () => {
    const text = `\ufeff${JSON.stringify(expected, undefined, '\t')}\r\n`;
    expect(readWorkerList(text, 'f')).toEqual(expected);
  });

  it('is read as Windows writes it, with a byte order mark and its line ends', () => {
    expect(readWorkerList('\ufeff- 10.0.0.5:50061\r\n- b:1\r\n', 'f').map(({ address }) => address)).toEqual([
      '10.0.0.5:50061',
      'b:1',
    ]);
  });

  it('may list nobody, by saying so', () => {
    expect(readWorkerList('[]', 'f')).toEqual([]);
  });

  it.each(
    [
      ['', 'f.yaml is empty; write [] when there are no workers'],
      ['# soon\n', 'f.yaml is empty; write [] when there are no workers'],
      ['workers:\n- a:1', 'f.yaml:1: must be a YAML or JSON list'],
      ['- a:1\n- b', 'f.yaml:2: "b" must be HOST:PORT, [::1]:PORT or unix:/path'],
      ['- a:1\n- dns:///b:1', 'f.yaml:2: "dns:///b:1" must be HOST:PORT, [::1]:PORT or unix:/path'],
      ['- a:1\n- 5', 'f.yaml:2: an entry must be HOST:PORT or {target'],
      ['- a:1\n- [b:1]', 'f.yaml:2: an entry must be HOST:PORT or {target'],
      ['- a:1\n- {target: b}', 'f.yaml:2: address is missing'],
      [
        '- {address: "a:1", port: 5}',
        'f.yaml:1: unknown field "port"; an entry has address, target, draining',
      ],
      ['- {address: "a:1", draining: 1}', 'f.yaml:1: draining must be true or false'],
      ['- {address: "a:1", target: ""}', 'f.yaml:1: target must have 1 to 256 characters'],
      ['- {address: "a:1", target: "x\\ny"}', 'no control characters'],
      ['- a:1\n- b:1\n- a:1', 'f.yaml:3: a:1 is listed already in f.yaml:1'],
      ['- {address: "a:1", target: x}\n- {address: "b:1", target: x}', 'f.yaml:2: x is listed already'],
      ['- a:1\n- "b:1', 'f.yaml:2: Missing closing "quote'],
      ['[\n"a:1",\n', 'f.yaml:3: '],
      ['- a:1\n- [::1]:5', 'an IPv6 address must be in quotes: "[::1]:50061"'],
      ['- a:1\n---\n- b:1', 'must be one list, without a second document'],
      ['- &x a:1\n- *x', 'f.yaml:2: an entry must be HOST:PORT or {target'],
      ['['.repeat(100_000), 'is nested too deeply'],
      ['- a\n'.repeat(1_000_000), 'holds more than a list of 10000 workers'],
      [
        Array.from({ length: 10_001 }, (_, i) => `- w${i}:1`).join('\n'),
        'lists 10001 workers, at most 10000',
      ],
    ].map(([text, message]) => ({ text: text ?? '', message: message ?? '' })),
  )('is refused: $message', ({ text, message }) => {
    expect(() => readWorkerList(text, 'f.yaml')).toThrow(message);
  });
});

describe('a watched file', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kv-accord-file-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('is taken up at every change, keeps the last good list while it is broken, and may be swapped as Kubernetes does', async () => {
    const path = join(folder, 'workers.yaml');
    const run = runSource(new FileSource({ path, intervalMs: 10 }, { clock: systemClock }));
    await run.until(() => run.errors.length === 1);
    expect(run.errors).toEqual([`${path} does not exist`]);
    await writeFile(path, '- a:1');
    await run.until(() => run.lists.length === 1);
    await writeFile(path, '- a:1\n- b');
    await run.until(() => run.errors.length === 2);
    expect(run.errors[1]).toMatch(/workers\.yaml:2: "b" must be/);
    expect(run.lists).toHaveLength(1);
    await writeFile(join(folder, 'new.json'), '["c:1"]');
    await symlink(join(folder, 'new.json'), join(folder, 'link'));
    await rename(join(folder, 'link'), path);
    await run.until(() => run.lists.length === 2);
    expect(run.lists).toEqual([['a:1'], ['c:1']]);
  });

  it('that is half-written is read a second time before it is believed', async () => {
    const clock = new FakeClock();
    let content = '- a:1\n- b:1\n';
    const run = runSource(
      new FileSource({ path: 'w.yaml' }, { clock, readFile: async () => Buffer.from(content) }),
    );
    await clock.advanceMs(0);
    content = '- a:1\n';
    await clock.advanceMs(2_000);
    content = '- a:1\n- b:1\n- c:1\n';
    await clock.advanceMs(200);
    expect(run.lists).toEqual([
      ['a:1', 'b:1'],
      ['a:1', 'b:1', 'c:1'],
    ]);
  });

  it('that cannot be read is logged once, and its return as well', async () => {
    const clock = new FakeClock();
    let isThere = true;
    const readFile = async (): Promise<Buffer> => {
      if (isThere) return Buffer.from('- a:1');
      throw Object.assign(new Error('EACCES'), { code: 'EACCES' });
    };
    const run = runSource(new FileSource({ path: 'w.yaml' }, { clock, readFile }));
    await clock.advanceMs(0);
    isThere = false;
    await clock.advanceMs(60_000);
    expect(run.errors).toEqual(['w.yaml may not be read by this user']);
    isThere = true;
    await clock.advanceMs(2_000);
    expect(run.lists).toEqual([['a:1'], ['a:1']]);
    await run.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('that is larger than 4 MiB is not read', async () => {
    const path = join(folder, 'large.yaml');
    await writeFile(path, Buffer.alloc(4 * 1024 * 1024 + 1, '#'));
    const run = runSource(new FileSource({ path }, { clock: systemClock }));
    await run.until(() => run.errors.length === 1);
    expect(run.errors[0]).toBe(`${path} has 4194305 bytes, at most 4194304 are read`);
  });

  it('that is a folder is refused', async () => {
    const run = runSource(new FileSource({ path: folder }, { clock: systemClock }));
    await run.until(() => run.errors.length === 1);
    expect(run.errors[0]).toContain('is not a plain file');
  });
});
