import { cpus } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { plainTable } from '../../src/edge/platform/data/plain-table.js';
import { type ChatLoad, type PlayedTurn, playChats } from '../../test/peers/support/chat-load.js';
import { probe, type Served, startFrontend, startSidecar } from '../../test/peers/support/kv-accord.js';
import { lacks } from '../../test/peers/support/peers.js';
import { completeReport } from '../../test/peers/support/report.js';
import { tinyModel } from '../../test/peers/support/tiny-model.js';
import { until } from '../../test/peers/support/until.js';
import { startVllm, type Vllm } from '../../test/peers/support/vllm.js';

/** Of both engines; a frontend with block size 16 finds nothing in their caches. */
const BLOCK_SIZE = 32;

const LOAD: ChatLoad = {
  model: 'mid',
  conversations: 8,
  turns: 3,
  systemWords: 128,
  openingWords: 640,
  turnWords: 48,
  answerTokens: 8,
  // So that a time is the engine's own, and not what two engines leave each other of two cores.
  concurrency: 1,
  seed: 20_261_121,
};

const MODES = [
  { name: 'kv', flags: ['--router-mode', 'kv'] },
  { name: 'round-robin', flags: ['--router-mode', 'round-robin'] },
  {
    name: 'kv, wrong block size forced',
    flags: ['--router-mode', 'kv', '--kv-cache-block-size', String(BLOCK_SIZE / 2)],
  },
] as const;

interface Outcome {
  readonly name: string;
  readonly turns: readonly PlayedTurn[];
}

describe.skipIf(lacks('vllm'))('a multi-turn chat over two vLLM engines', () => {
  const engines: Vllm[] = [];
  const sidecars: Served[] = [];
  const outcomes: Outcome[] = [];

  beforeAll(async () => {
    const model = tinyModel(LOAD.model, 'mid');
    for (const name of ['worker-0', 'worker-1']) {
      const engine = await startVllm({ model, blockSize: BLOCK_SIZE, developerMode: true });
      engines.push(engine);
      const sidecar = await startSidecar(name, '--engine', engine.url);
      sidecars.push(sidecar);
      await completeReport(sidecar);
    }
  });
  afterAll(async () => {
    for (const { program } of [...sidecars, ...engines]) await program.stop();
  });

  for (const { name, flags } of MODES) {
    it(`is played with ${name}`, async () => {
      for (const { url } of engines) await fetch(`${url}/reset_prefix_cache`, { method: 'POST' });
      const frontend = await startFrontend(`frontend-${outcomes.length}`, sidecars, ...flags);
      try {
        await until(
          'the frontend to be ready',
          async () => (await probe(frontend, '/readyz')).status === 200,
          { needs: [frontend.program] },
        );
        outcomes.push({ name, turns: await playChats(frontend.url, LOAD) });
      } finally {
        await frontend.program.stop();
      }
    });
  }

  it('comes out best where the router knows what is cached', () => {
    console.log(describeMachine());
    console.log(tableOf(outcomes));
    expect(outcomes).toHaveLength(MODES.length);
    const [kv, ...others] = outcomes as [Outcome, Outcome, Outcome];
    for (const other of others) {
      expect(cachedShare(kv.turns)).toBeGreaterThan(cachedShare(other.turns));
      expect(mean(followUps(kv.turns))).toBeLessThan(mean(followUps(other.turns)));
    }
  });
});

function tableOf(outcomes: readonly Outcome[]): string {
  const head = [
    'router',
    'prompt tokens',
    'cached',
    'share',
    'TTFT: first turns',
    'follow-ups',
    'p50',
    'p90',
  ];
  const table = plainTable(head);
  for (const { name, turns } of outcomes) {
    const prompt = sum(turns.map(({ promptTokens }) => promptTokens));
    const cached = sum(turns.map(({ cachedTokens }) => cachedTokens));
    const first = turns.filter(({ turn }) => turn === 0).map(({ timeToFirstTokenMs }) => timeToFirstTokenMs);
    table.push([
      name,
      String(prompt),
      String(cached),
      `${Math.round((100 * cached) / prompt)} %`,
      seconds(mean(first)),
      seconds(mean(followUps(turns))),
      seconds(quantile(followUps(turns), 0.5)),
      seconds(quantile(followUps(turns), 0.9)),
    ]);
  }
  return table.toString();
}

function describeMachine(): string {
  const [cpu] = cpus();
  return `${LOAD.conversations} conversations of ${LOAD.turns} turns, ${LOAD.concurrency} at a time; two vLLM engines with blocks of ${BLOCK_SIZE} on ${cpus().length} cores of ${cpu?.model ?? 'an unknown processor'}, one thread each`;
}

function followUps(turns: readonly PlayedTurn[]): number[] {
  return turns.filter(({ turn }) => turn > 0).map(({ timeToFirstTokenMs }) => timeToFirstTokenMs);
}

function cachedShare(turns: readonly PlayedTurn[]): number {
  return sum(turns.map((t) => t.cachedTokens)) / sum(turns.map((t) => t.promptTokens));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}
