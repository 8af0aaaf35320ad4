import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  cardsIn,
  type DynamoFrontend,
  type DynamoWorker,
  dynamoFolder,
  execDynamoFrontend,
  instancesOf,
  startDynamoWorker,
  startsOf,
  untilModelListed,
} from './support/dynamo.js';
import { chatBody, converseWithAll, describeLoad, routerBlockSize } from './support/dynamo-load.js';
import { forThisTest } from './support/for-this-test.js';
import { addressOf } from './support/index-client.js';
import { logLines, type Served, startSidecar } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { completeReport } from './support/report.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';

const LOAD = { conversations: 6, turns: 4, words: 2_000 };
const WORDS = Array.from({ length: 200 }, (_, i) => i);

/** Of a long answer, one every 100 ms: it outlasts the 5 s after which Dynamo's frontend says that it waits no longer. */
const TOKENS = 120;

describe.skipIf(lacks('dynamo', 'grpcurl'))(
  'a real Dynamo fleet whose block size changes from 16 to 32, with its frontend under exec',
  () => {
    const fileKv = dynamoFolder('dynamo-change');
    const workersFile = join(fileKv, 'workers.json');
    const of16 = { model: tinyModel('tiny'), registered: 16, engine: 16, fileKv, tokenMs: 100 };
    const of32 = { ...of16, registered: 32, engine: 32 };
    const workers: DynamoWorker[] = [];
    const sidecars: Served[] = [];
    let frontend: DynamoFrontend;

    /** Starts a worker with its sidecar. */
    async function startBoth(name: string, options: typeof of16): Promise<void> {
      const worker = await startDynamoWorker(name, options);
      workers.push(worker);
      const sources = ['--dynamo-file-kv', fileKv, '--kv-event-sources', worker.kvEvents];
      const sidecar = await startSidecar(`sidecar-${name}`, '--engine', worker.url, ...sources);
      sidecars.push(sidecar);
      await completeReport(sidecar);
    }

    function messagesOf(asked: string): readonly string[] {
      return logLines(frontend.program).flatMap(({ level, msg }) => (level === asked ? [msg] : []));
    }

    function list(listed: readonly Served[]): void {
      writeFileSync(workersFile, JSON.stringify(listed.map(addressOf)));
    }

    beforeAll(async () => {
      await startBoth('old-0', of16);
      list(sidecars);
      frontend = await execDynamoFrontend('exec', fileKv, ['--workers-file', workersFile]);
      await untilModelListed(frontend);
    });
    afterAll(async () => {
      for (const served of [frontend, ...sidecars, ...workers]) await served?.program.stop();
    });

    it('is not followed while workers of both sizes are there, of which Dynamo would take either; exec says so', async () => {
      await startBoth('new-0', of32);
      await startBoth('new-1', of32);
      list(sidecars);
      await until('the majority to have 32', () => frontend.program.log.includes('a new epoch has begun'), {
        needs: [frontend.program],
      });
      await until('the frontend to reject them', () =>
        frontend.program.log.includes('Rejected incompatible'),
      );
      expect(messagesOf('error')).toContainEqual(
        expect.stringMatching(
          /^The workers came into conflict while the program runs: it goes on with KV block size 16, .*\nWorker \S+( \(\S+\))? has KV block size \(tokens_per_block\) 32, the fleet agreed on 16 /,
        ),
      );
      expect(startsOf(frontend)).toEqual([16]);
      expect(await routerBlockSize(frontend)).toBe(16);
    });

    it('is followed when the old ones leave: a request in flight ends whole, and then the frontend is restarted', async () => {
      const sentMs = performance.now();
      const answer = await fetch(`${frontend.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...chatBody(WORDS, TOKENS), stream: true }),
      });
      const streamed = answer.text();
      // A worker of Dynamo leaves the discovery immediately, and ends when it has answered.
      const gone = workers[0]?.program.stop();
      await until('the old worker to leave', () => cardsIn(fileKv) === 2, { pollMs: 20 });
      list(sidecars.slice(1));
      const warning =
        'The fleet changed its KV block size from 16 to 32 while the program runs: it is restarted';
      await until('exec to follow', () => messagesOf('warn').includes(warning), {
        needs: [frontend.program],
        pollMs: 20,
      });
      expect(messagesOf('info')).toContain('The conflict is over: the workers agree on KV block size 32');
      const askedMs = performance.now() - sentMs;
      expect(startsOf(frontend)).toEqual([16]);

      const text = await streamed;
      const endedMs = performance.now() - sentMs;
      expect(text).toMatch(/\ndata: \[DONE\]\n+$/);
      expect(text.match(/"content":" ?w\d+"/g)).toHaveLength(TOKENS);
      expect(endedMs).toBeGreaterThan(askedMs + 5_000);
      await until('the frontend to be restarted', () => startsOf(frontend).length > 1, {
        needs: [frontend.program],
        pollMs: 20,
      });
      console.log(
        `asked to end after ${Math.round(askedMs)} ms, answered the request after ${Math.round(endedMs)} ms, ` +
          `and was restarted after ${Math.round(performance.now() - sentMs)} ms`,
      );
      expect(await gone).toBe(0);
    });

    it('has every hit afterwards, and its frontend is not started once more', async () => {
      await untilModelListed(frontend);
      expect(await routerBlockSize(frontend)).toBe(32);
      await until('both workers in the frontend', async () => (await instancesOf(frontend)) === 2);
      const after = await converseWithAll(frontend, { ...LOAD, seed: 1 }, 2);
      console.log(describeLoad('blocks of 32 after the change', after));
      expect(after.workers.size).toBe(2);
      expect(after.hitRateOfRepeats).toBeGreaterThan(0.9);
      expect(startsOf(frontend)).toEqual([16, 32]);
      expect(await frontend.program.stop()).toBe(0);
    });
  },
);

describe.skipIf(lacks('dynamo', 'grpcurl'))(
  'such a change without sidecars, by the model cards alone',
  () => {
    /** Two old workers, a frontend under exec, and then two new workers, which that frontend rejects. */
    async function untilBothSizesServe(
      name: string,
      ...flags: readonly string[]
    ): Promise<{ readonly old: readonly DynamoWorker[]; readonly frontend: DynamoFrontend }> {
      const fileKv = dynamoFolder(name);
      const of16 = { model: tinyModel('tiny'), registered: 16, engine: 16, fileKv };
      const of32 = { ...of16, registered: 32, engine: 32 };
      const old: DynamoWorker[] = [];
      for (const worker of ['old-0', 'old-1']) old.push(forThisTest(await startDynamoWorker(worker, of16)));
      const workers = ['--workers', `dynamo-file://${fileKv}`, '--min-workers', '2'];
      const frontend = forThisTest(await execDynamoFrontend('exec', fileKv, [...workers, ...flags]));
      await untilModelListed(frontend);
      for (const worker of ['new-0', 'new-1']) forThisTest(await startDynamoWorker(worker, of32));
      await until('exec to tell', () => frontend.program.log.includes('came into conflict'), {
        needs: [frontend.program],
      });
      return { old, frontend };
    }

    async function expectEveryHit(frontend: DynamoFrontend): Promise<void> {
      await untilModelListed(frontend);
      await until('the two new workers in the frontend', async () => (await instancesOf(frontend)) === 2);
      const figures = await converseWithAll(frontend, { ...LOAD, seed: 1 }, 2);
      expect(await routerBlockSize(frontend)).toBe(32);
      expect(figures.workers.size).toBe(2);
      expect(figures.hitRateOfRepeats).toBeGreaterThan(0.9);
    }

    it('waits for the card of a worker that was killed, which would mislead a frontend that starts', async () => {
      const { old, frontend } = await untilBothSizesServe('dynamo-change-killed');
      await old[0]?.program.stop();
      await old[1]?.program.kill();
      const killedMs = performance.now();
      await until('the frontend to be restarted', () => startsOf(frontend).length > 1, {
        needs: [frontend.program],
      });
      console.log(`restarted ${Math.round(performance.now() - killedMs)} ms after a worker was killed`);
      expect(performance.now() - killedMs).toBeGreaterThan(5_000);
      expect(startsOf(frontend)).toEqual([16, 32]);
      await expectEveryHit(frontend);
    });

    it('needs no new start of the frontend of 1.6.1, which follows its workers by itself: --on-change ignore', async () => {
      const { old, frontend } = await untilBothSizesServe('dynamo-change-ignored', '--on-change', 'ignore');
      for (const { program } of old) await program.stop();
      await until('exec to see the change', () => frontend.program.log.includes('from 16 to 32 while'), {
        needs: [frontend.program],
      });
      await expectEveryHit(frontend);
      expect(startsOf(frontend)).toEqual([16]);
    });
  },
);
