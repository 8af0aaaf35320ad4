/**
 * What a watched worker costs the aggregator, in memory and in idle time of
 * the processor, against bare grpc-js watch streams with the same traffic in
 * the same run: one channel and one connection each, one report, then a
 * heartbeat every five seconds. Each client is a process of its own, and so is
 * the server that stands for all sidecars.
 *
 *     node --expose-gc .cache/bench/bench/worker-sessions.js [SESSIONS]
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { credentials } from '@grpc/grpc-js';
import { systemClock } from '../src/edge/platform/clock.js';
import { systemRandom } from '../src/edge/platform/random.js';
import { StreamRefusals } from '../src/edge/platform/streams/stream-refusals.js';
import { RpcDialer } from '../src/edge/rpc/channel.js';
import { createPlaintextSecurity } from '../src/edge/security/security.js';
import { SessionPool } from '../src/fleet/aggregator/sessions/session-pool.js';
import { CapabilitiesClient } from '../src/gen/kvaccord/v1/capabilities.js';
import { FakeSidecar } from '../test/support/fake-sidecar.js';
import { RecordingLogger } from '../test/support/recording-logger.js';

const HEARTBEAT_MS = 5_000;
/** Two heartbeats and a little: long enough that buffers of connecting are gone. */
const IDLE_MS = 12_000;

interface Result {
  readonly bytesPerSession: number;
  readonly connectMs: number;
  /** Share of one processor while idle. */
  readonly idleCpu: number;
}

/** Opens `count` streams and calls `onReport` for each first report. */
type Opener = (address: string, count: number, onReport: () => void) => void;

const openBare: Opener = (address, count, onReport) => {
  for (let index = 0; index < count; index += 1) {
    const client = new CapabilitiesClient(address, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_channelz': 0,
      'grpc.enable_retries': 0,
      'grpc.service_config_disable_resolution': 1,
    });
    const stream = client.watchCapabilities({ lastInstanceId: '', lastRevision: 0n, frontendId: '' });
    stream.on('data', ({ payload }) => {
      if (payload?.$case === 'report') onReport();
    });
    stream.on('error', (error) => {
      throw error;
    });
  }
};

const openSessions: Opener = (address, count, onReport) => {
  const clock = systemClock;
  const dialer = new RpcDialer({}, { clock, security: createPlaintextSecurity() });
  const listener = {
    onReport: () => {
      onReport();
      return true;
    },
    onAlive: () => undefined,
    onBroken: (target: string, reason: string) => {
      throw new Error(`${target}: ${reason}`);
    },
  };
  const logger = new RecordingLogger();
  const refusals = new StreamRefusals({ logger });
  const pool = new SessionPool({}, { clock, random: systemRandom, dialer, listener, logger, refusals });
  pool.setEndpoints(Array.from({ length: count }, (_, index) => ({ target: `w-${index}`, address })));
};

async function runClient(open: Opener, address: string, count: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 500));
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  const start = performance.now();
  await new Promise<void>((resolve) => {
    let reports = 0;
    open(address, count, () => {
      reports += 1;
      if (reports === count) resolve();
    });
  });
  const connectMs = performance.now() - start;
  const cpu = process.cpuUsage();
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const { user, system } = process.cpuUsage(cpu);
  globalThis.gc?.();
  const bytesPerSession = (process.memoryUsage.rss() - before) / count;
  const result: Result = { bytesPerSession, connectMs, idleCpu: (user + system) / 1_000 / IDLE_MS };
  process.send?.(result, () => process.exit(0));
}

async function runServer(): Promise<void> {
  const sidecar = await FakeSidecar.start();
  setInterval(() => sidecar.sendHeartbeat(), HEARTBEAT_MS);
  process.send?.(sidecar.address);
}

function start(...args: string[]): ChildProcess {
  return fork(fileURLToPath(import.meta.url), args, { execArgv: ['--expose-gc'] });
}

async function compare(count: number): Promise<void> {
  console.log(`${count} idle watch streams, one channel and connection each, after ${IDLE_MS / 1_000} s`);
  const results = new Map<string, Result>();
  for (const role of ['bare', 'sessions']) {
    // A server of its own for each, so that neither inherits what the other left there.
    const server = start('server');
    const [address] = (await once(server, 'message')) as [string];
    const client = start(role, address, String(count));
    const [result] = (await once(client, 'message')) as [Result];
    results.set(role, result);
    server.kill('SIGKILL');
    await once(server, 'exit');
    console.log(
      `  ${role.padEnd(9)} ${(result.bytesPerSession / 1024).toFixed(1)} KiB each, ` +
        `all reported in ${Math.round(result.connectMs)} ms, idle CPU ${(result.idleCpu * 100).toFixed(2)} %`,
    );
  }
  const [bare, sessions] = [results.get('bare'), results.get('sessions')];
  if (bare === undefined || sessions === undefined) return;
  console.log(
    `  ratio     ${(sessions.bytesPerSession / bare.bytesPerSession).toFixed(2)}x of bare grpc-js in memory`,
  );
}

const [role, first = '', second = ''] = process.argv.slice(2);
if (role === 'server') await runServer();
else if (role === 'bare') await runClient(openBare, first, Number(second));
else if (role === 'sessions') await runClient(openSessions, first, Number(second));
else await compare(Number(role ?? 1_000));
