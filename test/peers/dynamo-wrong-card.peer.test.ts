import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type DynamoFrontend,
  type DynamoWorker,
  dynamoFolder,
  execDynamoFrontend,
  instancesOf,
  restartDynamoWorker,
  startDynamoFrontend,
  startDynamoWorker,
  startsOf,
  untilModelListed,
} from './support/dynamo.js';
import {
  chat,
  converse,
  counterOf,
  describeLoad,
  type LoadFigures,
  routerBlockSize,
} from './support/dynamo-load.js';
import { forThisTest } from './support/for-this-test.js';
import { addressOf } from './support/index-client.js';
import { addressesOf, logLines, type Served, startSidecar } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { completeReport, reportThat, sizeEvidence } from './support/report.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';

const NAMES = ['dynamo-0', 'dynamo-1'];
const WORDS = Array.from({ length: 400 }, (_, i) => i);
const LOAD = { conversations: 6, turns: 4, words: 2_000 };

describe.skipIf(lacks('dynamo', 'grpcurl'))(
  'a real Dynamo fleet whose cards say 16 while its engines use 32',
  () => {
    const fileKv = dynamoFolder('dynamo-wrong-card');
    const wrong = { model: tinyModel('tiny'), registered: 16, engine: 32, fileKv };
    let workers: DynamoWorker[];
    let sidecars: Served[];
    let before: LoadFigures;
    let frontend: DynamoFrontend;

    beforeAll(async () => {
      workers = [];
      for (const name of NAMES) workers.push(await startDynamoWorker(name, wrong));
    });
    afterAll(async () => {
      for (const served of [frontend, ...(sidecars ?? []), ...workers]) await served?.program.stop();
    });

    it('loses every hit without kv-accord, and Dynamo does not say why', async () => {
      const frontend = await startDynamoFrontend(fileKv);
      try {
        await until('both workers in the frontend', async () => (await instancesOf(frontend)) === 2);
        before = await converse(frontend, { ...LOAD, seed: 1 });
        console.log(describeLoad('cards 16, engines 32, without kv-accord', before));
        expect(before).toMatchObject({ hitRateOfRepeats: 0, hitRateCounted: 0 });
        // The engines do reuse what the router cannot see, where a repeat meets its worker by chance.
        expect(before.cachedTokens).toBeGreaterThan(0);
        expect(await routerBlockSize(frontend)).toBe(16);
        const family = 'dynamo_component_kv_cache_events_applied';
        expect(await counterOf(frontend, family, '"stored"', '"ok"')).toBeGreaterThan(0);
        expect(await counterOf(frontend, family, '"stored"', '"parent_block_not_found"')).toBeGreaterThan(0);
        const suspicious = 'dynamo_component_kv_publisher_zmq_suspicious_events_total';
        for (const worker of workers) {
          expect(await counterOf(worker, suspicious, '"empty_store_blocks"')).toBeGreaterThan(0);
          // It is said three times, by the worker, and never again.
          expect(
            worker.program.log.match(/Block size must be 16 tokens to be published\. Block size is: 32/g),
          ).toHaveLength(3);
        }
        expect(frontend.program.log).not.toMatch(/block.?size/i);
        expect(frontend.program.log).not.toMatch(/^\S+ +ERROR/m);
      } finally {
        await frontend.program.stop();
      }
    });

    it('is named with both numbers as soon as a first prompt shows it, while the frontend that was begun goes on', async () => {
      for (const [i, worker] of workers.entries()) workers[i] = await restartDynamoWorker(worker, wrong);
      sidecars = [];
      for (const { url, kvEvents, program } of workers) {
        const sources = ['--dynamo-file-kv', fileKv, '--kv-event-sources', kvEvents];
        const sidecar = await startSidecar(`sidecar-${program.name}`, '--engine', url, ...sources);
        sidecars.push(sidecar);
        expect((await completeReport(sidecar)).contract?.tokensPerBlock).toBe(16);
      }
      // No engine has computed anything yet: there are the cards alone, and they agree.
      frontend = await execDynamoFrontend('exec', fileKv, flagsOf(sidecars));
      await untilModelListed(frontend);
      expect(errorsOf(frontend)).toEqual([]);

      const { believedShare } = await chat(frontend, WORDS);
      expect(believedShare).toBe(0);
      const conflict =
        /^The workers came into conflict while the program runs: it goes on with KV block size 16/;
      await until('exec to tell', () => errorsOf(frontend).some((line) => conflict.test(line)), {
        needs: [frontend.program],
      });
      expect(errorsOf(frontend)[0]).toMatch(
        /^Frontend KV block size \(16\) does not match worker block size \(32\)\.\nWorker \S+( \(\S+\))? declares 16 but its engine uses 32: set --kv-block-size=32 on the worker\.\n/,
      );
      // A frontend that serves is not taken away.
      expect(await chat(frontend, WORDS)).toMatchObject({ believedShare: 0 });
    });

    it('says beside each worker that its card is not what its engine does', async () => {
      let prompt = 0;
      for (const sidecar of sidecars) {
        await until(`an event of ${sidecar.program.name}`, async () => {
          prompt += 1;
          await chat(frontend, [prompt, ...WORDS]);
          return /BlockStored block_size=32/.test(sidecar.program.log);
        });
        const report = await reportThat(
          sidecar,
          'with the size of the events',
          ({ contract }) => contract?.tokensPerBlock === 32,
        );
        expect(sizeEvidence(report)).toMatchObject({ source: 'EVIDENCE_SOURCE_OBSERVED_EVENT' });
        expect(report.conflicts).toMatchObject([{ field: 'contract.tokens_per_block', otherValue: '16' }]);
        const warnings = logLines(sidecar.program).flatMap(({ level, msg }) =>
          level === 'warn' ? [msg] : [],
        );
        expect(warnings).toContainEqual(
          expect.stringMatching(/a block size of 32 tokens .* says 16; correct it there/),
        );
      }
    });

    it('is refused for the next frontend, with both workers as the places to fix', async () => {
      const refused = await execDynamoFrontend('exec-refused', fileKv, flagsOf(sidecars));
      expect(await refused.program.ended).toBe(4);
      expect(refused.program.log).not.toContain('Starting');
      for (const sidecar of sidecars) {
        const line = new RegExp(
          `^ {2}Worker \\S+ \\(${addressOf(sidecar)}\\) declares 16 \\(file .*\\) but its engine uses 32 \\(observed_event, .*\\): set --kv-block-size=32 on the worker$`,
          'm',
        );
        expect(refused.program.log).toMatch(line);
      }
    });

    it('finds what is cached once the cards are true: exec restarts the frontend, and hits are back', async () => {
      const right = { ...wrong, registered: 32 };
      for (const [i, worker] of workers.entries()) workers[i] = await restartDynamoWorker(worker, right);
      await until('the frontend with 32', () => startsOf(frontend).length === 2, {
        needs: [frontend.program],
      });
      expect(startsOf(frontend)).toEqual([16, 32]);
      await untilModelListed(frontend);
      await until('both workers in the frontend', async () => (await instancesOf(frontend)) === 2);
      const after = await converse(frontend, { ...LOAD, seed: 1 });
      console.log(describeLoad('cards and engines 32, with kv-accord', after));
      expect(await routerBlockSize(frontend)).toBe(32);
      expect(after.hitRateOfRepeats).toBeGreaterThan(0.9);
      expect(after.moves).toBe(0);
      expect(after.cachedTokens).toBeGreaterThan(before.cachedTokens);
      expect(startsOf(frontend)).toHaveLength(2);

      const next = forThisTest(await execDynamoFrontend('exec-next', fileKv, flagsOf(sidecars)));
      await untilModelListed(next);
      expect(startsOf(next)).toEqual([32]);
      expect(errorsOf(next)).toEqual([]);
    });
  },
);

function flagsOf(sidecars: readonly Served[]): readonly string[] {
  return ['--workers', addressesOf(sidecars), '--min-workers', String(sidecars.length)];
}

function errorsOf({ program }: DynamoFrontend): readonly string[] {
  return logLines(program).flatMap(({ level, msg }) => (level === 'error' ? [msg] : []));
}
