import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  dynamoFolder,
  execDynamoFrontend,
  instancesOf,
  type Mocker,
  startDynamoFrontend,
  startMocker,
  startsOf,
  untilModelListed,
} from './support/dynamo.js';
import {
  converse,
  counterOf,
  describeLoad,
  type LoadFigures,
  routerBlockSize,
} from './support/dynamo-load.js';
import { forThisTest } from './support/for-this-test.js';
import { addressOf } from './support/index-client.js';
import { addressesOf, type Served, startSidecar } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { reportThat } from './support/report.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';

const LOAD = { conversations: 6, turns: 4, words: 2_000 };

describe.skipIf(lacks('dynamo', 'grpcurl'))(
  'two real Dynamo mockers with blocks of 32 whose cards were made to say 16',
  () => {
    const fileKv = dynamoFolder('dynamo-silent-card');
    const mockers: Mocker[] = [];
    const sidecars: Served[] = [];
    let before: LoadFigures;

    beforeAll(async () => {
      for (let i = 0; i < 2; i += 1) mockers.push(await startMocker(tinyModel('tiny'), 32, { fileKv }));
      writeCards(32, 16);
    });
    afterAll(async () => {
      for (const { program } of [...sidecars, ...mockers]) await program.stop();
    });

    function writeCards(from: number, to: number): void {
      const folder = join(fileKv, 'v1', 'mdc');
      for (const name of readdirSync(folder)) {
        const card = readFileSync(join(folder, name), 'utf8');
        expect(card).toContain(`"kv_cache_block_size":${from}`);
        writeFileSync(
          join(folder, name),
          card.replace(`"kv_cache_block_size":${from}`, `"kv_cache_block_size":${to}`),
        );
      }
    }

    it('lose every hit with all of Dynamo’s counters in order, and not a word of it anywhere', async () => {
      const frontend = forThisTest(await startDynamoFrontend(fileKv));
      await until('both workers in the frontend', async () => (await instancesOf(frontend)) === 2);
      before = await converse(frontend, { ...LOAD, seed: 1 });
      console.log(describeLoad('mockers with cards of 16, without kv-accord', before));
      expect(before).toMatchObject({ hitRateOfRepeats: 0, hitRateCounted: 0 });
      expect(before.cachedTokens).toBeGreaterThan(0);
      expect(await routerBlockSize(frontend)).toBe(16);

      const family = 'dynamo_component_kv_cache_events_applied';
      const applied = (...labels: readonly string[]): Promise<number> =>
        counterOf(frontend, family, ...labels);
      const all = await applied();
      expect(all).toBeGreaterThan(20);
      // Asked for after the sum, as events may still come in.
      expect(await applied('status="ok"')).toBeGreaterThanOrEqual(all);
      for (const { program } of [frontend, ...mockers]) {
        const loud = program.log.split('\n').filter((line) => /^\S+ +(WARN|ERROR)/.test(line));
        // Dynamo says these two of every worker, also where all is well.
        expect(loud.filter((line) => !/Adding worker|mm_routing/.test(line))).toEqual([]);
      }
    });

    it('are refused as soon as sidecars stand beside them: what the engines said before is asked for again', async () => {
      for (const [i, { url, ranks }] of mockers.entries()) {
        const [{ zmq, replay } = { zmq: 0, replay: 0 }] = ranks;
        const events = ['--kv-event-sources', `tcp://127.0.0.1:${zmq}`];
        events.push('--kv-replay-sources', `tcp://127.0.0.1:${replay}`);
        const engine = ['--engine', url, '--dynamo-file-kv', fileKv];
        sidecars.push(await startSidecar(`sidecar-${i}`, ...engine, ...events));
      }
      for (const sidecar of sidecars) {
        await reportThat(sidecar, 'with 32', ({ contract }) => contract?.tokensPerBlock === 32);
      }
      const refused = await execDynamoFrontend('exec-refused', fileKv, ['--workers', addressesOf(sidecars)]);
      expect(await refused.program.ended).toBe(4);
      expect(startsOf(refused)).toEqual([]);
      for (const sidecar of sidecars) {
        expect(refused.program.log).toMatch(
          new RegExp(
            `^ {2}Worker \\S+ \\(${addressOf(sidecar)}\\) declares 16 .* but its engine uses 32 .*: set --kv-block-size=32 on the worker$`,
            'm',
          ),
        );
      }
    });

    it('are refused without any sidecar as well, when exec reads the events itself', async () => {
      const listed = (port: 'zmq' | 'replay'): string =>
        mockers.map(({ url, ranks }) => `${new URL(url).host}=tcp://127.0.0.1:${ranks[0]?.[port]}`).join(',');
      const refused = await execDynamoFrontend('exec-refused', fileKv, [
        ...['--workers', `dynamo-file://${fileKv}`, '--min-workers', '2'],
        ...['--kv-event-sources', listed('zmq'), '--kv-replay-sources', listed('replay')],
      ]);
      expect(await refused.program.ended).toBe(4);
      expect(startsOf(refused)).toEqual([]);
      expect(refused.program.log).toMatch(
        /^ {2}Worker \S+( \(\S+\))? declares 16 .* but its engine uses 32 .*: set --kv-block-size=32 on the worker$/m,
      );
    });

    it('have all hits again once their cards are true', async () => {
      writeCards(16, 32);
      for (const sidecar of sidecars) {
        await reportThat(sidecar, 'without a contradiction', ({ conflicts = [] }) => conflicts.length === 0);
      }
      const frontend = forThisTest(
        await execDynamoFrontend('exec', fileKv, ['--workers', addressesOf(sidecars), '--min-workers', '2']),
      );
      await untilModelListed(frontend);
      expect(startsOf(frontend)).toEqual([32]);
      await until('both workers in the frontend', async () => (await instancesOf(frontend)) === 2);
      const after = await converse(frontend, { ...LOAD, seed: 100 });
      console.log(describeLoad('mockers with cards of 32, with kv-accord', after));
      expect(after.hitRateOfRepeats).toBeGreaterThan(0.9);
      expect(after.moves).toBe(0);
      expect(after.cachedTokens).toBeGreaterThan(before.cachedTokens);
    });
  },
);
