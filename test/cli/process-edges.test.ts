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

/** A sidecar below a shell command, with its log and the port of its probes. */
async function start(
  shell: string,
): Promise<{ child: ChildProcess; port: number; log: () => string; grown: () => Promise<unknown> }> {
  const command = `${shell} exec "$0" "$@"`;
  const child = spawn('/bin/bash', ['-c', command, process.execPath, MAIN, ...SIDECAR, ...PORTS], {
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
    grown: () => once(child.stderr, 'data'),
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
  const { child, port, log, grown } = await start('ulimit -n 48;');
  const sockets: Socket[] = [];
  open.add(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (let i = 0; i < 60; i += 1) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  }
  while (!log().includes('New connections are closed: this process has all of its 48 files open'))
    await grown();
  for (const socket of sockets.splice(0)) socket.destroy();
  while (!log().includes('Files can be opened again')) await grown();
  expect(await (await fetch(`http://127.0.0.1:${port}/livez`)).text()).toBe('ok\n');
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
}, 60_000);
