import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { OpenThings, workersOf } from '../support/open-things.js';
import { freePort } from '../support/ports.js';
import { requireBuild } from '../support/program.js';
import { UnreadPipe } from '../support/unread-pipe.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

beforeAll(requireBuild);
const open = new OpenThings();
afterEach(() => open.close());

type Output = number | 'pipe';

function start(
  args: readonly string[],
  stderr: Output,
  stdout: Output = 'pipe',
  things: OpenThings = open,
): ChildProcess {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', stdout, stderr],
  });
  things.add(async () => void child.kill('SIGKILL'));
  return child;
}

async function end(child: ChildProcess, signal?: NodeJS.Signals): Promise<number | null> {
  const ended = once(child, 'exit');
  if (signal !== undefined) child.kill(signal);
  await ended;
  return child.exitCode;
}

/** Asks until the server listens. */
async function ask(url: string): Promise<string> {
  for (;;) {
    const response = await fetch(url).catch(() => undefined);
    if (response !== undefined) return response.text();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function droppedLines(metrics: string): number {
  return Number(/^kv_accord_log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1]);
}

/** Standard error as a stranger may leave it: each with the descriptor that a program gets. */
const UNREADABLE: readonly (readonly [string, (things: OpenThings) => number | 'pipe'])[] = [
  [
    'a full pipe that nobody reads',
    (things) => {
      const pipe = new UnreadPipe();
      things.add(async () => pipe.close());
      return pipe.fd;
    },
  ],
  ['a full disk', () => openSync('/dev/full', 'w')],
  // Node's own pipes are sockets, and this test reads nothing of them.
  ['a socket that nobody reads', () => 'pipe'],
];

const SERVERS: readonly { readonly name: string; readonly args: readonly string[] }[] = [
  { name: 'sidecar', args: ['--engine', 'none', '--tokens-per-block', '16'] },
  { name: 'aggregator', args: ['--workers', '127.0.0.1:1'] },
  { name: 'frontend', args: ['--workers', '127.0.0.1:1', '--http-port', '0'] },
  { name: 'frontend', args: ['--workers', '127.0.0.1:1', '--http-port', '0', '--threads', '2'] },
];

// Most of the time of each is a wait for a reader that never comes: they run side by side, each with what it opened.
describe.each(UNREADABLE)('with standard error to %s', (kind, openOutput) => {
  it.concurrent.for(SERVERS)(
    '$name $args serves, counts, and ends in order',
    async ({ name, args }, { expect, onTestFinished }) => {
      const own = new OpenThings();
      onTestFinished(() => own.close());
      const port = await freePort();
      const listen = ['--listen', '127.0.0.1:0', '--http-listen', `127.0.0.1:${port}`];
      const child = start([name, ...args, ...listen, '--log-level', 'debug'], openOutput(own), 'pipe', own);
      expect(await ask(`http://127.0.0.1:${port}/livez`)).toBe('ok\n');
      const dropped = async (): Promise<number> =>
        droppedLines(await ask(`http://127.0.0.1:${port}/metrics`));
      // A full pipe has its lines wait for a reader; on a full disk each one is lost.
      if (kind === 'a full disk') await expect.poll(dropped, { timeout: 10_000 }).toBeGreaterThan(0);
      else expect(await dropped()).toBe(0);
      expect(await end(child, 'SIGTERM')).toBe(0);
    },
  );

  it.concurrent('wait ends with its code', async ({ expect, onTestFinished }) => {
    const own = new OpenThings();
    onTestFinished(() => own.close());
    const wait = ['wait', '--workers', '127.0.0.1:1', '--timeout', '500ms'];
    expect(await end(start(wait, openOutput(own), 'pipe', own))).toBe(5);
  });

  it.concurrent('exec runs its program and ends with its code', async ({ expect, onTestFinished }) => {
    const own = new OpenThings();
    onTestFinished(() => own.close());
    const sidecar = await own.sidecar('a');
    const program = ['--', process.execPath, '-e', 'process.exit(7)'];
    const child = start(['exec', ...workersOf(sidecar), ...program], openOutput(own), 'pipe', own);
    expect(await end(child)).toBe(7);
  });
});

it('a reader that comes back finds what waited, in order', async () => {
  const pipe = new UnreadPipe();
  open.add(async () => pipe.close());
  const port = await freePort();
  const listen = ['--listen', '127.0.0.1:0', '--http-listen', `127.0.0.1:${port}`];
  const child = start(['sidecar', '--engine', 'none', '--tokens-per-block', '16', ...listen], pipe.fd);
  await ask(`http://127.0.0.1:${port}/livez`);
  expect(pipe.readFilling()).toMatch(/^x+$/);
  await end(child, 'SIGTERM');
  const lines = pipe.read().trim().split('\n');
  const times = lines.map((line) => (JSON.parse(line) as { time: string }).time);
  expect(lines.join('\n')).toContain('Serving gRPC on');
  expect(times).toEqual([...times].sort());
});

it('a pipe that other programs write to is left as it is: their writes wait for room', async () => {
  const pipe = new UnreadPipe();
  open.add(async () => pipe.close());
  pipe.read();
  // It shares standard error as it was opened: were it set not to wait, this write would be cut short.
  const other = `head -c 300000 /dev/zero | tr '\\0' y >&2; echo done`;
  const child = spawn(
    '/bin/sh',
    ['-c', `"$0" "$1" wait --workers 127.0.0.1:1 --timeout 300ms; ${other}`, process.execPath, MAIN],
    { stdio: ['ignore', 'pipe', pipe.fd] },
  );
  open.add(async () => void child.kill('SIGKILL'));
  const closed = once(child, 'close');
  let isClosed = false;
  void closed.then(() => {
    isClosed = true;
  });
  let text = '';
  while (!isClosed) {
    text += pipe.read();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  text += pipe.read();
  expect(text.match(/y/g)?.length).toBeGreaterThanOrEqual(300_000);
});

describe('with standard output', () => {
  it('to a reader that has left, a command ends as other programs do, and says nothing', async () => {
    const child = start(['completion', 'zsh'], 'pipe');
    child.stdout?.destroy();
    let stderr = '';
    child.stderr?.on('data', (text) => {
      stderr += String(text);
    });
    expect([await end(child), stderr]).toEqual([141, '']);
  });

  it('to a full disk, a command says so and ends with 1', async () => {
    const child = start(['completion', 'zsh'], 'pipe', openSync('/dev/full', 'w'));
    let stderr = '';
    child.stderr?.on('data', (text) => {
      stderr += String(text);
    });
    expect(await end(child)).toBe(1);
    expect(stderr).toMatch(/^kv-accord: cannot write to standard output: ENOSPC.*\n$/);
  });

  it('to a reader that has left, a server goes on', async () => {
    const port = await freePort();
    const listen = ['--listen', '127.0.0.1:0', '--http-listen', `127.0.0.1:${port}`];
    const child = start(['sidecar', '--engine', 'none', '--tokens-per-block', '16', ...listen], 'pipe');
    child.stdout?.destroy();
    child.stderr?.resume();
    expect(await ask(`http://127.0.0.1:${port}/livez`)).toBe('ok\n');
    expect(await end(child, 'SIGTERM')).toBe(0);
  });

  // Among them the moments at which it is busy with its own start and has not seen the signal yet.
  it.each([100, 300, 500])('to a full pipe, a command ends by a signal after %i ms', async (afterMs) => {
    const pipe = new UnreadPipe();
    open.add(async () => pipe.close());
    const child = start(['completion', 'zsh'], 'pipe', pipe.fd);
    const ended = once(child, 'exit');
    // There is nothing to see before it hangs; a signal that comes earlier ends it too.
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    child.kill('SIGTERM');
    await ended;
    expect([child.signalCode, child.exitCode]).not.toEqual([null, 0]);
  });
});
