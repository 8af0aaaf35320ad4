import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { OpenThings } from '../support/open-things.js';
import { requireBuild } from '../support/program.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const SIDECAR = ['sidecar', '--engine', 'none', '--tokens-per-block', '16', '--json'];
const PORTS = ['--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0'];

beforeAll(requireBuild);
const open = new OpenThings();
afterEach(() => open.close());

interface Started {
  readonly child: ChildProcess;
  readonly port: number;
  readonly log: () => string;
  /** Resolves once the log says so; rejects with the log when the process ends before. */
  readonly logged: (words: string) => Promise<void>;
}

/** A sidecar below a shell command, with its log and the port of its probes. */
async function start(shell: string, ...flags: string[]): Promise<Started> {
  const command = `${shell} exec "$0" "$@"`;
  const child = spawn('/bin/bash', ['-c', command, process.execPath, MAIN, ...SIDECAR, ...PORTS, ...flags], {
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  open.add(() => void child.kill('SIGKILL'));
  let log = '';
  child.stderr.on('data', (text) => {
    log += String(text);
  });
  const [line] = await once(child.stdout, 'data');
  const { http } = JSON.parse(String(line)) as { http: string };
  return {
    child,
    port: Number(http.split(':').at(-1)),
    log: () => log,
    async logged(words) {
      while (!log.includes(words)) {
        if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${log}`);
        await Promise.race([once(child.stderr, 'data'), once(child, 'exit')]);
      }
    },
  };
}

it('a terminal that is closed ends a process in order', async () => {
  const { child } = await start('');
  const ended = once(child, 'exit');
  child.kill('SIGHUP');
  expect(await ended).toEqual([0, null]);
});

it('no inspector opens by a signal', async () => {
  const { child, port, log } = await start('');
  child.kill('SIGUSR1');
  expect(await (await fetch(`http://127.0.0.1:${port}/livez`)).text()).toBe('ok\n');
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(log()).not.toContain('Debugger');
});

it('a process without a free descriptor says so, goes on, and serves again', async () => {
  const { child, port, logged } = await start('ulimit -n 48;', '--model', 'm', '--topology', 'off');
  // By then it has loaded all the code that it needs, which takes files of its own.
  await logged('no engine is asked');
  const sockets: Socket[] = [];
  open.add(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (let i = 0; i < 60; i += 1) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  }
  await logged('New connections are closed: this process has all of its 48 files open');
  for (const socket of sockets.splice(0)) socket.destroy();
  await logged('Files can be opened again');
  expect(await (await fetch(`http://127.0.0.1:${port}/livez`)).text()).toBe('ok\n');
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
}, 60_000);
