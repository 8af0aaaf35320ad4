import { afterAll, describe, expect, it } from 'vitest';
import { MemberState } from '../../src/gen/kvaccord/v1/fleet.js';
import {
  type DynamoFrontend,
  type DynamoWorker,
  type DynamoWorkerOptions,
  dynamoFolder,
  execDynamoFrontend,
  instancesOf,
  restartDynamoWorker,
  startDynamoWorker,
  startsOf,
  untilModelListed,
} from './support/dynamo.js';
import { chat, converse, converseWithAll, describeLoad, routerBlockSize } from './support/dynamo-load.js';
import { forThisTest } from './support/for-this-test.js';
import { addressOf, agreementOf } from './support/index-client.js';
import { logLines, type Served, startAggregatorWith } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import type { Program } from './support/program.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';

const LOAD = { conversations: 6, turns: 4, words: 2_000 };
const WORDS = Array.from({ length: 400 }, (_, i) => i);

/** How a worker of Dynamo is named, by what it serves and its instance. */
const NAME = 'dynamo/backend/generate/[0-9a-f]+';

function errorsOf(program: Program): readonly string[] {
  return logLines(program).flatMap(({ level, msg }) => (level === 'error' ? [msg] : []));
}

describe.skipIf(lacks('dynamo', 'grpcurl'))('a real Dynamo fleet without any sidecar', () => {
  const fileKv = dynamoFolder('dynamo-without-sidecars');
  const model = tinyModel('tiny');
  const flags = ['--workers', `dynamo-file://${fileKv}`, '--min-workers', '2'];
  const workers: DynamoWorker[] = [];
  let aggregator: Served;
  let frontend: DynamoFrontend;

  afterAll(async () => {
    for (const served of [frontend, aggregator, ...workers]) await served?.program.stop();
  });

  async function restartAll(options: DynamoWorkerOptions): Promise<void> {
    for (const [i, worker] of workers.entries()) workers[i] = await restartDynamoWorker(worker, options);
  }

  it('of two sizes is refused by its model cards alone', async () => {
    workers.push(await startDynamoWorker('dynamo-0', { model, registered: 16, engine: 16, fileKv }));
    workers.push(await startDynamoWorker('dynamo-1', { model, registered: 32, engine: 32, fileKv }));
    const refused = await execDynamoFrontend('exec-refused', fileKv, flags);
    expect(await refused.program.ended).toBe(4);
    for (const size of [16, 32]) {
      expect(refused.program.log).toMatch(
        new RegExp(`^ {2}${size}: ${NAME} \\(Dynamo; .*kv_cache_block_size: ${size}\\)$`, 'm'),
      );
    }
  });

  it('of one size is agreed on by its model cards, and served by all its workers', async () => {
    await restartAll({ model, registered: 32, engine: 32, fileKv });
    const served = forThisTest(await execDynamoFrontend('exec-agreed', fileKv, flags));
    await untilModelListed(served);
    expect(startsOf(served)).toEqual([32]);
    await until('both workers in the frontend', async () => (await instancesOf(served)) === 2);
    const figures = await converseWithAll(served, { ...LOAD, seed: 1 }, 2);
    console.log(describeLoad('cards and engines 32, no sidecars', figures));
    expect(figures.workers.size).toBe(2);
    expect(figures.hitRateOfRepeats).toBeGreaterThan(0.9);
  });

  it('whose cards are wrong is found out by an aggregator that reads the events, and exec reports it', async () => {
    await restartAll({ model, registered: 16, engine: 32, fileKv });
    // Workers are named by their system ports, which they keep when they are restarted.
    const sources = workers.map(({ ports, kvEvents }) => `127.0.0.1:${ports.system}=${kvEvents}`).join(',');
    aggregator = await startAggregatorWith('aggregator', [...flags, '--kv-event-sources', sources]);
    frontend = await execDynamoFrontend('exec', fileKv, ['--aggregator', addressOf(aggregator)]);
    await untilModelListed(frontend);
    expect(startsOf(frontend)).toEqual([16]);
    expect(errorsOf(frontend.program)).toEqual([]);

    expect(await chat(frontend, WORDS)).toMatchObject({ believedShare: 0 });
    await until('exec to tell', () => errorsOf(frontend.program).length > 0, {
      needs: [frontend.program, aggregator.program],
    });
    const conflict =
      /^The workers came into conflict while the program runs: it goes on with KV block size 16, .*\nWorker \S+ .*declares 16 .*uses 32/;
    expect(errorsOf(frontend.program)).toEqual([expect.stringMatching(conflict)]);
    expect(errorsOf(aggregator.program)[0]).toMatch(
      /^Frontend KV block size \(16\) does not match worker block size \(32\)\.\nWorker \S+( \(\S+\))? declares 16 but its engine uses 32: set --kv-block-size=32 on the worker\.\n/,
    );
    const refused = await execDynamoFrontend('exec-refused', fileKv, ['--aggregator', addressOf(aggregator)]);
    expect(await refused.program.ended).toBe(4);
    expect(refused.program.log).toMatch(/declares 16 .*uses 32/);
  });

  it('is followed when its cards are put right, and then its events prove them', async () => {
    await restartAll({ model, registered: 32, engine: 32, fileKv });
    await until('the frontend with 32', () => startsOf(frontend).length === 2, {
      needs: [frontend.program, aggregator.program],
    });
    await untilModelListed(frontend);
    await until('both workers in the frontend', async () => (await instancesOf(frontend)) === 2);
    const after = await converse(frontend, { ...LOAD, seed: 1 });
    console.log(describeLoad('cards put right, no sidecars', after));
    expect(await routerBlockSize(frontend)).toBe(32);
    expect(after.hitRateOfRepeats).toBeGreaterThan(0.9);
    expect(startsOf(frontend)).toEqual([16, 32]);
    // What engines said before the aggregator was connected to them again is lost to it: further prompts prove them.
    let seed = 2;
    await until('both workers verified', async () => {
      const { members, contract } = await agreementOf(aggregator);
      expect(contract?.tokensPerBlock).toBe(32);
      if (members.every(({ state }) => state === MemberState.VERIFIED)) return true;
      await converse(frontend, { ...LOAD, seed: seed++ });
      return false;
    });
  });
});
