/**
 * What an Endpoint Picker adds to a request through Envoy, and its processor
 * time: Envoy alone, with `kv-accord epp`, and with the reference picker where
 * that is installed, or another one that runs already, over the same engines that do nothing, asked by the same client, in turns.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canTakeResets, nodeVersion } from '../src/edge/platform/processes/node-version.js';
import { envoyConfigOf } from '../test/support/envoy-config.js';
import type { LoadFigures, LoadOptions } from './parts/http-load.js';
import type { HttpWorker } from './parts/http-workers.js';
import { figure, IS_QUICK, median, ratio, title } from './support/figures.js';
import { Part } from './support/part.js';
import { type RunningPicker, startReferencePicker } from './support/reference-picker.js';
import { cpuMsOf, freePort, ServerProcess } from './support/server-process.js';

const ROUNDS = IS_QUICK ? 1 : 5;
const WINDOW_MS = IS_QUICK ? 150 : 2_000;
/** Until V8 has compiled what runs for every request: after 4 s a request with one connection still costs a half more. */
const WARM_UP_MS = IS_QUICK ? 100 : 10_000;
const CONNECTIONS = [1, 16, 64];
const BODY_BYTES = [2_048, 102_400];
const PEER = 'peer';
/** Against the picker of others. */
const AIM = 1;

/** Where `test/peers/install` puts things. */
const PEERS = join(process.env['KV_ACCORD_PEER_CACHE'] ?? join(homedir(), '.cache', 'kv-accord'), 'peers');
const ENVOY = join(PEERS, 'envoy-1.40.0/bin/envoy');
/** Tokenizer files of a real model. */
const TOKENIZER = join(PEERS, 'chat-templates/tokenizers/qwen3');

/** One Envoy, and the picker that it asks. */
interface Side {
  readonly name: string;
  readonly port: number;
  readonly envoy: ServerProcess;
  /** Processor time of the picker so far. */
  cpuMs(): number;
  stop(): Promise<void>;
}

interface Window extends LoadFigures {
  readonly cpuUs: number;
  readonly envoyCpuUs: number;
}

const folder = mkdtempSync(join(tmpdir(), 'kv-accord-bench-'));

async function startSide(name: string, engines: readonly number[], picker?: RunningPicker): Promise<Side> {
  const [port, adminPort] = [await freePort(), await freePort()];
  const file = join(folder, `${name.replaceAll(' ', '-')}.json`);
  const options = picker === undefined ? { engines } : { engines, pickerPort: picker.port };
  writeFileSync(file, JSON.stringify(envoyConfigOf(options, port, adminPort)));
  const envoy = new ServerProcess(ENVOY, [
    ...['-c', file, '--use-dynamic-base-id', '--concurrency', '1', '--log-level', 'error'],
  ]);
  await envoy.ready(`http://127.0.0.1:${adminPort}/ready`, () => true);
  return {
    name,
    port,
    envoy,
    cpuMs: () => (picker === undefined ? 0 : cpuMsOf(picker.pid)),
    stop: async () => {
      await envoy.stop();
      await picker?.stop();
    },
  };
}

async function startEpp(workers: readonly HttpWorker[], ...flags: string[]): Promise<RunningPicker> {
  const [port, httpPort] = [await freePort(), await freePort()];
  const epp = new ServerProcess(process.execPath, [
    fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url)),
    ...['epp', '--workers', workers.map(({ sidecar }) => sidecar).join(',')],
    ...['--worker-urls', workers.map(({ sidecar, url }) => `${sidecar}=${url}`).join(',')],
    ...['--log-level', 'warn', '--listen', '127.0.0.1:0', ...flags],
    ...['--http-listen', `127.0.0.1:${httpPort}`, '--ext-proc-listen', `127.0.0.1:${port}`],
    ...['--health-listen', '127.0.0.1:0'],
  ]);
  await epp.ready(`http://127.0.0.1:${httpPort}/readyz`, () => true);
  return { port, pid: epp.pid, stop: () => epp.stop() };
}

/** A picker of others that runs, `PORT:PID`; otherwise the reference picker. */
async function startPeer(ports: readonly number[]): Promise<RunningPicker | undefined> {
  const [port, pid] = (process.env['KV_ACCORD_EPP_PEER'] ?? '').split(':').map(Number);
  if (port === undefined || pid === undefined) return startReferencePicker(folder, ports);
  return { port, pid, stop: async () => {} };
}

async function measure(load: Part, side: Side, options: Omit<LoadOptions, 'port'>): Promise<Window> {
  const [beforeMs, envoyBeforeMs] = [side.cpuMs(), cpuMsOf(side.envoy.pid)];
  const figures = await load.ask<LoadFigures>('run', { ...options, port: side.port });
  return {
    ...figures,
    cpuUs: (1_000 * (side.cpuMs() - beforeMs)) / figures.requests,
    envoyCpuUs: (1_000 * (cpuMsOf(side.envoy.pid) - envoyBeforeMs)) / figures.requests,
  };
}

/** The middle of all rounds, by side; the sides take turns. */
async function compare(
  load: Part,
  sides: readonly Side[],
  options: Omit<LoadOptions, 'port'>,
): Promise<void> {
  const windows = new Map<Side, Window[]>(sides.map((side) => [side, []]));
  for (let round = 0; round < ROUNDS; round += 1)
    for (const side of sides) windows.get(side)?.push(await measure(load, side, options));
  const middle = (side: Side, of: (window: Window) => number): number =>
    median((windows.get(side) ?? []).map(of));
  const [alone] = sides;
  const others = sides.find(({ name }) => name === PEER);
  if (alone === undefined) return;
  const added = (side: Side, of: (window: Window) => number): number => middle(side, of) - middle(alone, of);
  for (const side of sides) {
    console.log(`  ${side.name}`);
    figure(
      '  requests',
      middle(side, (window) => window.perSecond),
      '/s',
    );
    figure(
      '  p50',
      middle(side, (window) => window.p50Us),
      'us',
    );
    figure(
      '  p99',
      middle(side, (window) => window.p99Us),
      'us',
    );
    figure(
      '  processor time of Envoy for each',
      middle(side, (window) => window.envoyCpuUs),
      'us',
    );
    if (side === alone) continue;
    figure(
      '  added at p50',
      added(side, (window) => window.p50Us),
      'us',
    );
    figure(
      '  added at p99',
      added(side, (window) => window.p99Us),
      'us',
    );
    figure(
      '  processor time for each',
      middle(side, (window) => window.cpuUs),
      'us',
    );
    if (others === undefined || side === others) continue;
    ratio(
      '  added at p50, peer',
      added(side, (w) => w.p50Us),
      added(others, (w) => w.p50Us),
      'us',
      AIM,
    );
    ratio(
      '  added at p99, peer',
      added(side, (w) => w.p99Us),
      added(others, (w) => w.p99Us),
      'us',
      AIM,
    );
    ratio(
      '  processor time, peer',
      middle(side, (w) => w.cpuUs),
      middle(others, (w) => w.cpuUs),
      'us',
      AIM,
    );
  }
}

const engines = new Part('http-workers');
const load = new Part('http-load');
const sides: Side[] = [];
try {
  if (!canTakeResets())
    // Envoy's connections would be ended, and its clients get 500.
    title(`Endpoint Pickers: not run; Node 22.10 or later is needed, and this is ${nodeVersion()}`);
  else if (!existsSync(ENVOY))
    title('Endpoint Pickers: not run; node test/peers/install/install.mjs envoy installs Envoy');
  else {
    const workers = await engines.ask<HttpWorker[]>('start', { count: 2 });
    const ports = workers.map(({ url }) => Number(new URL(url).port));
    const other = await startPeer(ports);
    title(
      `Endpoint Pickers behind Envoy 1.40${other === undefined ? '; the reference picker: not run; node test/peers/install/install.mjs reference-pickers builds it' : ''}`,
    );
    sides.push(await startSide('envoy alone', ports));
    const inTurn = await startEpp(workers, '--router-mode', 'round-robin');
    sides.push(await startSide('kv-accord epp, round-robin', ports, inTurn));
    // All prompts are new.
    sides.push(await startSide('kv-accord epp, tokens of the engines', ports, await startEpp(workers)));
    if (existsSync(TOKENIZER)) {
      const mute = await engines.ask<HttpWorker[]>('start', { count: 2, hasTokens: false });
      const own = await startEpp(mute, '--tokenizer', TOKENIZER);
      const mutePorts = mute.map(({ url }) => Number(new URL(url).port));
      sides.push(await startSide('kv-accord epp, tokens made here', mutePorts, own));
    }
    if (other !== undefined) sides.push(await startSide(PEER, ports, other));
    for (const side of sides)
      await measure(load, side, { connections: 16, durationMs: WARM_UP_MS, isStream: false });
    for (const bodyBytes of BODY_BYTES)
      for (const connections of CONNECTIONS) {
        title(`${connections} connection${connections === 1 ? '' : 's'}, bodies of ${bodyBytes} bytes`);
        await compare(load, sides, { connections, durationMs: WINDOW_MS, isStream: false, bodyBytes });
      }
  }
} finally {
  for (const side of sides) await side.stop();
  await load.stop();
  await engines.stop();
  rmSync(folder, { recursive: true, force: true });
}
