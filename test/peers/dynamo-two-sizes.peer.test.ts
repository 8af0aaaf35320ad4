import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import {
  beginDynamoFrontend,
  type DynamoFrontend,
  type DynamoWorker,
  dynamoFolder,
  execDynamoFrontend,
  instancesOf,
  restartDynamoWorker,
  startDynamoWorker,
  startsOf,
  untilModelListed,
} from './support/dynamo.js';
import {
  converse,
  converseWithAll,
  describeLoad,
  type LoadFigures,
  routerBlockSize,
} from './support/dynamo-load.js';
import { forThisTest } from './support/for-this-test.js';
import { addressOf } from './support/index-client.js';
import { addressesOf, type Served, startSidecar } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { completeReport, reportThat } from './support/report.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';

const LOAD = { conversations: 6, turns: 4, words: 2_000 };

/** What Dynamo's frontend says of a worker whose card is not that of the first one, whatever the difference is. */
const REJECTED = 'Rejected incompatible workers; the first accepted configuration retains the WorkerSet';

describe.skipIf(lacks('dynamo', 'grpcurl'))('a real Dynamo fleet with blocks of 16 and of 32', () => {
  const fileKv = dynamoFolder('dynamo-two-sizes');
  const workersFile = join(fileKv, 'workers.json');
  const of16 = { model: tinyModel('tiny'), registered: 16, engine: 16, fileKv };
  const of32 = { ...of16, registered: 32, engine: 32 };
  let early: DynamoFrontend | undefined;
  let workers: readonly [DynamoWorker, DynamoWorker] | undefined;
  let sidecars: readonly [Served, Served];
  let before: LoadFigures;

  afterAll(async () => {
    for (const served of [early, ...(sidecars ?? []), ...(workers ?? [])]) await served?.program.stop();
  });

  it('loses half of its workers to a frontend that was started too early, which says of it one line without a size', async () => {
    early = await beginDynamoFrontend(fileKv);
    const first = await startDynamoWorker('dynamo-0', of16);
    await untilModelListed(early);
    workers = [first, await startDynamoWorker('dynamo-1', of32)];
    const { program } = early;
    await until('the second worker to be rejected', () => program.log.includes(REJECTED), {
      needs: [program],
    });

    before = await converse(early, { ...LOAD, seed: 1 });
    console.log(describeLoad('blocks of 16 and of 32, without kv-accord', before));
    expect(before.workers.size).toBe(1);
    expect(await routerBlockSize(early)).toBe(16);
    const errors = program.log.split('\n').filter((line) => /^\S+ +ERROR/.test(line));
    expect(errors).toEqual([expect.stringContaining(REJECTED)]);
    expect(errors[0]).not.toMatch(/block.?size/i);
    // Its health goes on listing the worker that it rejected.
    expect(await instancesOf(early)).toBe(2);
    await program.stop();
  });

  it('is refused by exec, which names both sizes and their workers', async () => {
    const [first, second] = workers ?? [];
    if (first === undefined || second === undefined) throw new Error('no workers');
    sidecars = [
      await startSidecar('sidecar-0', '--engine', first.url, '--dynamo-file-kv', fileKv),
      await startSidecar('sidecar-1', '--engine', second.url, '--dynamo-file-kv', fileKv),
    ];
    for (const sidecar of sidecars) await completeReport(sidecar);
    const refused = await execDynamoFrontend('exec-refused', fileKv, ['--workers', addressesOf(sidecars)]);
    expect(await refused.program.ended).toBe(4);
    expect(refused.program.log).not.toContain('Starting');
    expect(refused.program.log).toMatch(/^kv-accord exec: Workers of "tiny" disagree on the KV block size/m);
    const [a, b] = sidecars.map(addressOf);
    expect(refused.program.log).toMatch(
      new RegExp(`^ {2}16: sidecar-0 \\(${a}\\) \\(.*declared, file .*\\)$`, 'm'),
    );
    expect(refused.program.log).toMatch(
      new RegExp(`^ {2}32: sidecar-1 \\(${b}\\) \\(.*declared, file .*\\)$`, 'm'),
    );
  });

  it('is held back until as many workers are there as there should be, and then all of them serve', async () => {
    const [first, second] = workers ?? [];
    if (first === undefined || second === undefined) throw new Error('no workers');
    const list = (...listed: readonly Served[]): void =>
      writeFileSync(workersFile, JSON.stringify(listed.map(addressOf)));
    list(sidecars[1]);
    const flags = ['--workers-file', workersFile, '--min-workers', '2'];
    const frontend = forThisTest(await execDynamoFrontend('exec', fileKv, flags));
    // One worker is there and agrees with itself; that nothing is started shows only after a while.
    await sleep(4_000);
    expect(startsOf(frontend)).toEqual([]);

    workers = [await restartDynamoWorker(first, of32), second];
    await reportThat(sidecars[0], 'with blocks of 32', ({ contract }) => contract?.tokensPerBlock === 32);
    list(...sidecars);
    await untilModelListed(frontend);
    expect(startsOf(frontend)).toEqual([32]);
    await until('both workers in the frontend', async () => (await instancesOf(frontend)) === 2);
    const after = await converseWithAll(frontend, { ...LOAD, seed: 100 }, 2);
    console.log(describeLoad('blocks of 32, with kv-accord', after));
    expect(after.workers.size).toBe(2);
    expect(after.hitRateOfRepeats).toBeGreaterThan(0.9);
    expect(await routerBlockSize(frontend)).toBe(32);
    expect(frontend.program.log).not.toContain(REJECTED);
  });
});
