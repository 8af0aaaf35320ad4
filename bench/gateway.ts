/**
 * What a gateway costs a request: what it adds to the time of an answer, and
 * its processor time. `kv-accord frontend`, alone, with two processes that serve
 * HTTP and over a router in another process, and its proxy alone, against a bare
 * reverse proxy in Node and against smg, in front of the same engines that do
 * nothing, asked by the same client, in turns.
 */
import { fileURLToPath } from 'node:url';
import type { LoadFigures, LoadOptions } from './parts/http-load.js';
import type { HttpWorker } from './parts/http-workers.js';
import { figure, IS_QUICK, median, ratio, title } from './support/figures.js';
import { Part } from './support/part.js';
import { cpuMsOf, freePort, ServerProcess } from './support/server-process.js';
import { findSmg, startSmg } from './support/smg.js';

const WORKERS = 2;
const ROUNDS = IS_QUICK ? 1 : 5;
const WINDOW_MS = IS_QUICK ? 150 : 2_000;
/** Until V8 has compiled what a request needs. */
const WARM_UP_MS = IS_QUICK ? 100 : 4_000;
const CONNECTIONS = [1, 16, 64];
const STREAM_CONNECTIONS = 16;
/** Against the bare proxy. */
const AIM = 1.5;
/** Against smg. */
const PEER_AIM = 1;

/** One way to the engines. */
interface Side {
  readonly name: string;
  readonly port: number;
  /** Processor time so far. */
  cpuMs(): number | Promise<number>;
  stop(): Promise<void>;
}

/** What one side showed in one window. */
interface Window extends LoadFigures {
  readonly cpuUs: number;
}

const portOf = (url: string): number => Number(new URL(url).port);

async function partSide(name: string, part: string, urls: readonly string[]): Promise<Side> {
  const started = new Part(part);
  const port = await started.ask<number>('start', { urls });
  return { name, port, cpuMs: () => started.cpuMs(), stop: () => started.stop() };
}

/** The program with the settings that all sides of ours share. */
function startProgram(command: string, ...args: readonly string[]): ServerProcess {
  const program = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));
  return new ServerProcess(process.execPath, [program, command, ...args, '--log-level', 'warn']);
}

const workersOf = (workers: readonly HttpWorker[]): readonly string[] => [
  ...['--workers', workers.map(({ sidecar }) => sidecar).join(',')],
  ...['--router-mode', 'round-robin'],
];

const urlsOf = (workers: readonly HttpWorker[]): readonly string[] => [
  '--worker-urls',
  workers.map(({ sidecar, url }) => `${sidecar}=${url}`).join(','),
];

/** `kv-accord frontend`, alone or with more processes that serve HTTP. */
async function frontendSide(
  name: string,
  workers: readonly HttpWorker[],
  ...args: readonly string[]
): Promise<Side> {
  const port = await freePort();
  const frontend = startProgram(
    'frontend',
    ...[...workersOf(workers), ...urlsOf(workers)],
    ...['--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0', '--http-port', String(port), ...args],
  );
  await frontend.ready(`http://127.0.0.1:${port}/readyz`, () => true);
  return { name, port, cpuMs: () => cpuMsOf(frontend.pid), stop: () => frontend.stop() };
}

/** `kv-accord frontend --router` over a router in a process of its own. */
async function remoteRouterSide(workers: readonly HttpWorker[]): Promise<Side> {
  const [grpcPort, httpPort, port] = [await freePort(), await freePort(), await freePort()];
  const router = startProgram(
    'aggregator',
    ...workersOf(workers),
    ...['--listen', `127.0.0.1:${grpcPort}`, '--http-listen', `127.0.0.1:${httpPort}`],
  );
  await router.ready(`http://127.0.0.1:${httpPort}/readyz`, () => true);
  const frontend = startProgram(
    'frontend',
    ...['--router', `127.0.0.1:${grpcPort}`, ...urlsOf(workers)],
    ...['--router-mode', 'round-robin', '--http-port', String(port)],
  );
  await frontend.ready(`http://127.0.0.1:${port}/readyz`, () => true);
  return {
    name: 'frontend --router',
    port,
    cpuMs: () => cpuMsOf(frontend.pid) + cpuMsOf(router.pid),
    stop: async () => {
      await frontend.stop();
      await router.stop();
    },
  };
}

async function smgSide(program: string, urls: readonly string[]): Promise<Side> {
  const { process: started, port } = await startSmg(program, urls);
  return { name: 'smg', port, cpuMs: () => cpuMsOf(started.pid), stop: () => started.stop() };
}

async function measure(load: Part, side: Side, options: Omit<LoadOptions, 'port'>): Promise<Window> {
  const beforeMs = await side.cpuMs();
  const figures = await load.ask<LoadFigures>('run', { ...options, port: side.port });
  return { ...figures, cpuUs: (1_000 * ((await side.cpuMs()) - beforeMs)) / figures.requests };
}

/** The middle of all rounds, by side; the sides take turns. */
async function compare(
  load: Part,
  sides: readonly Side[],
  options: Omit<LoadOptions, 'port'>,
): Promise<ReadonlyMap<string, Window>> {
  const windows = new Map<string, Window[]>(sides.map(({ name }) => [name, []]));
  for (let round = 0; round < ROUNDS; round += 1)
    for (const side of sides) windows.get(side.name)?.push(await measure(load, side, options));
  return new Map(
    [...windows].map(([name, all]) => {
      const middle = (of: (window: Window) => number): number => median(all.map(of));
      return [
        name,
        {
          requests: middle((window) => window.requests),
          perSecond: middle((window) => window.perSecond),
          p50Us: middle((window) => window.p50Us),
          p99Us: middle((window) => window.p99Us),
          firstByteUs: middle((window) => window.firstByteUs),
          cpuUs: middle((window) => window.cpuUs),
        },
      ];
    }),
  );
}

function print(found: ReadonlyMap<string, Window>, isStream: boolean): void {
  const direct = found.get('direct') as Window;
  const bare = found.get('bare proxy') as Window;
  const smg = found.get('smg');
  for (const [name, window] of found) {
    console.log(`  ${name}`);
    figure('  requests', window.perSecond, '/s');
    figure('  p50', window.p50Us, 'us');
    figure('  p99', window.p99Us, 'us');
    if (isStream) figure('  first byte, p50', window.firstByteUs, 'us');
    figure(`  processor time ${name === 'direct' ? 'of the engines ' : ''}for each`, window.cpuUs, 'us');
    if (window === direct || window === bare || window === smg) continue;
    ratio('  added at p50, bare proxy', window.p50Us - direct.p50Us, bare.p50Us - direct.p50Us, 'us', AIM);
    ratio('  added at p99, bare proxy', window.p99Us - direct.p99Us, bare.p99Us - direct.p99Us, 'us', AIM);
    ratio('  processor time, bare proxy', window.cpuUs, bare.cpuUs, 'us', AIM);
    if (smg === undefined) continue;
    ratio('  added at p50, smg', window.p50Us - direct.p50Us, smg.p50Us - direct.p50Us, 'us', PEER_AIM);
    ratio('  added at p99, smg', window.p99Us - direct.p99Us, smg.p99Us - direct.p99Us, 'us', PEER_AIM);
    ratio('  processor time, smg', window.cpuUs, smg.cpuUs, 'us', PEER_AIM);
  }
}

const engines = new Part('http-workers');
const load = new Part('http-load');
const sides: Side[] = [];
try {
  const workers = await engines.ask<HttpWorker[]>('start', { count: WORKERS });
  const urls = workers.map(({ url }) => url);
  const smg = findSmg(IS_QUICK);
  title(`Gateways over ${WORKERS} engines that answer immediately; ${smg.says}`);
  sides.push({
    name: 'direct',
    port: portOf(urls[0] as string),
    cpuMs: () => engines.cpuMs(),
    stop: async () => {},
  });
  sides.push(await partSide('bare proxy', 'bare-proxy', urls));
  sides.push(await partSide('our proxy alone', 'worker-proxy', urls));
  sides.push(await frontendSide('kv-accord frontend', workers));
  sides.push(await frontendSide('frontend --threads 2', workers, '--threads', '2'));
  sides.push(await remoteRouterSide(workers));
  if (smg.program !== undefined) sides.push(await smgSide(smg.program, urls));
  for (const side of sides)
    for (const isStream of [false, true])
      await measure(load, side, { connections: 16, durationMs: WARM_UP_MS / 2, isStream });
  for (const connections of CONNECTIONS) {
    title(`${connections} connection${connections === 1 ? '' : 's'}, bodies of 2 KB, answers of 250 bytes`);
    const options = { connections, durationMs: WINDOW_MS, isStream: false };
    print(await compare(load, sides, options), false);
  }
  title(`${STREAM_CONNECTIONS} connections, streams of 100 events, each in a packet of its own`);
  const options = { connections: STREAM_CONNECTIONS, durationMs: WINDOW_MS, isStream: true };
  print(await compare(load, sides, options), true);
} finally {
  for (const side of sides) await side.stop();
  await load.stop();
  await engines.stop();
}
