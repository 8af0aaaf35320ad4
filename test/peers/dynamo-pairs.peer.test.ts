import { basename } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cardsIn, dynamoEnvironment, dynamoFolder } from './support/dynamo.js';
import { logLines, probe, type Served, startAggregatorWith } from './support/kv-accord.js';
import { lacks, peerPath } from './support/peers.js';
import { Program } from './support/program.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';

/** Workers of each role. */
const COUNT = 16;

describe.skipIf(lacks('dynamo'))("many of Dynamo's mockers, one half for prompts and one for answers", () => {
  const model = tinyModel('tiny');
  const fileKv = dynamoFolder('dynamo-pairs');
  const mockers = new Map<string, Program>();
  let aggregator: Served;

  beforeAll(async () => {
    for (const role of ['prefill', 'decode']) startMockers(role);
    aggregator = await startAggregatorWith('aggregator', ['--workers', `dynamo-file://${fileKv}`]);
    await until('all model cards', () => cardsIn(fileKv) === 2 * COUNT, { needs: [...mockers.values()] });
  });
  afterAll(async () => {
    for (const program of [aggregator?.program, ...mockers.values()]) await program?.stop();
  });

  function startMockers(role: string): void {
    const command = [
      ...[peerPath('dynamo', 'bin', 'python'), '-m', 'dynamo.mocker'],
      ...['--model-path', model, '--model-name', basename(model)],
      ...['--block-size', '32', '--num-gpu-blocks-override', '256'],
      ...['--num-workers', String(COUNT), '--disaggregation-mode', role],
    ];
    mockers.set(role, new Program({ name: `mockers-${role}`, command, env: dynamoEnvironment(fileKv) }));
  }

  const gate = async (): Promise<number> => (await probe(aggregator, '/readyz')).status;

  it('are known by their roles from their model cards, and open the gate with one size', async () => {
    await until('the gate to open', async () => (await gate()) === 200, { needs: [aggregator.program] });
    const page = (await probe(aggregator, '/metrics')).body;
    const members = /^kv_accord_workers\{[^}]*group="tiny"[^}]*state="conforming"[^}]*\} (\d+)$/m.exec(
      page,
    )?.[1];
    expect(Number(members)).toBe(2 * COUNT);
    expect(logLines(aggregator.program).map(({ msg }) => msg)).toContain(
      'Auto-configured KV block size to 32 (from worker reports)',
    );
  });

  it('shut it while one half is gone, and open it by themselves', async () => {
    await mockers.get('prefill')?.end();
    await until('the gate to shut', async () => (await gate()) === 503, { timeoutMs: 60_000 });
    expect((await probe(aggregator, '/readyz?verbose')).body).toMatch(/prefill/);
    startMockers('prefill');
    await until('the gate to open again', async () => (await gate()) === 200, { timeoutMs: 60_000 });
  });
});
