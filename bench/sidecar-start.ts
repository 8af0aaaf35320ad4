/**
 * A sidecar as it is started beside a worker, against a plain grpc-js server
 * with pino and prom-client: from the start of the process to the first answer
 * over gRPC, and its memory once it has nothing to do.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { credentials } from '@grpc/grpc-js';
import { systemClock } from '../src/edge/platform/clock.js';
import { CapabilitiesClient } from '../src/gen/kvaccord/v1/capabilities.js';
import { SimulatedEngine } from '../src/tools/demo/engines/simulated-engine.js';
import { simulatedVllm } from '../src/tools/demo/engines/simulated-vllm.js';
import { figure, IS_QUICK, median, ratio, title } from './support/figures.js';
import { sharedNowMs, wait } from './support/part.js';

const ROUNDS = IS_QUICK ? 3 : 15;
/** The first round of questions is over, and the next one is not due. */
const IDLE_MS = IS_QUICK ? 1_500 : 4_000;
const AIM = 1.15;

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

interface Started {
  readonly firstAnswerMs: number;
  readonly rssBytes: number;
}

async function measure(args: readonly string[]): Promise<Started> {
  const startMs = sharedNowMs();
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const { grpc } = JSON.parse(await firstLine(child)) as { grpc: string };
    await ask(grpc);
    const firstAnswerMs = sharedNowMs() - startMs;
    await wait(IDLE_MS);
    return { firstAnswerMs, rssBytes: rssOf(child.pid ?? 0) };
  } finally {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    if (child.stdout === null) return reject(new Error('the process has no standard output'));
    createInterface(child.stdout).once('line', resolve);
    child.once('exit', (code) => reject(new Error(`ended with ${code} before it served`)));
  });
}

function ask(address: string): Promise<void> {
  const client = new CapabilitiesClient(address, credentials.createInsecure());
  return new Promise((resolve, reject) => {
    client.getCapabilities({}, (error) => {
      client.close();
      if (error === null) resolve();
      else reject(error);
    });
  });
}

/** Resident memory as Linux counts it. */
function rssOf(pid: number): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) * 1_024;
}

const engine = new SimulatedEngine(
  { surface: simulatedVllm, setup: { model: 'tiny', tokensPerBlock: 16 } },
  { clock: systemClock },
);
await engine.open();
engine.start();
const ports = ['--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0'];
const sidecar = [here('../../../dist/cli/main.js'), 'sidecar', '--engine', engine.url, '--json', ...ports];
const bareSidecar = [here('parts/bare-sidecar.js')];
const ours: Started[] = [];
const bare: Started[] = [];
// In turns, so that what else the machine does meets both; the first turn only fills the disk cache.
for (let round = 0; round <= ROUNDS; round += 1) {
  const [a, b] = [await measure(bareSidecar), await measure(sidecar)];
  if (round > 0) {
    bare.push(a);
    ours.push(b);
  }
}
await engine.close();

const of = (runs: readonly Started[], name: keyof Started): number => median(runs.map((run) => run[name]));
title('sidecar start; floor: a plain grpc-js server with pino and prom-client');
ratio(
  'from the start to the first gRPC answer',
  of(ours, 'firstAnswerMs'),
  of(bare, 'firstAnswerMs'),
  'ms',
  AIM,
);
ratio('memory when idle', of(ours, 'rssBytes') / 2 ** 20, of(bare, 'rssBytes') / 2 ** 20, 'MiB', AIM);
figure('starts of each', ROUNDS, '');
