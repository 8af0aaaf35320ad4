import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgreementState, MemberState } from '../../src/gen/kvaccord/v1/fleet.js';
import {
  type DynamoFrontend,
  type DynamoWorker,
  startDynamoFrontend,
  startDynamoWorker,
} from './support/dynamo.js';
import { addressOf, agreementOf, findMatches, untilVerified } from './support/index-client.js';
import {
  addressesOf,
  logLines,
  type Served,
  startAggregator,
  startKvAccord,
  startSidecar,
} from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import type { Program } from './support/program.js';
import { completeReport } from './support/report.js';
import { scratchFolder } from './support/scratch.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';

const WORDS = Array.from({ length: 400 }, (_, i) => i);

/** What the tiny model's chat template and tokenizer make of the words: `<bos> <|user|> … <|end|> <|assistant|>`. */
const TOKENS = [1, 5, ...WORDS.map((word) => 16 + word), 7, 6];

/** What is said of a worker when its events have the other size than its registration. */
function threeLines(worker: string): string {
  return [
    'Frontend KV block size (16) does not match worker block size (32).',
    `Worker ${worker} declares 16 but its engine uses 32: set --kv-block-size=32 on the worker.`,
    'KV-aware routing will not function until block sizes match.',
  ].join('\n');
}

/** What Dynamo's frontend says of one request. */
interface Routed {
  /** Tokens that the worker's engine had in its cache. */
  readonly cachedTokens: number;
  /** Share of the prompt that the router believed to be cached. */
  readonly believedShare: number;
}

describe.skipIf(lacks('dynamo', 'grpcurl'))(
  'two real Dynamo workers that register 16 while their engines use 32',
  () => {
    let fileKv: string;
    let workers: DynamoWorker[];
    let frontend: DynamoFrontend;
    let sidecars: Served[];
    let aggregator: Served;
    const programs: Program[] = [];

    beforeAll(async () => {
      fileKv = join(scratchFolder(), 'dynamo-registered-16');
      mkdirSync(fileKv, { recursive: true });
      const options = { model: tinyModel('tiny'), registered: 16, engine: 32, fileKv };
      workers = [];
      sidecars = [];
      for (const name of ['dynamo-0', 'dynamo-1']) {
        const worker = await startDynamoWorker(name, options);
        programs.push(worker.program);
        workers.push(worker);
        const sources = ['--dynamo-file-kv', fileKv, '--kv-event-sources', worker.kvEvents];
        const sidecar = await startSidecar(`sidecar-${name}`, '--engine', worker.url, ...sources);
        programs.push(sidecar.program);
        sidecars.push(sidecar);
      }
      frontend = await startDynamoFrontend(fileKv);
      programs.push(frontend.program);
      aggregator = await startAggregator('aggregator', sidecars);
      programs.push(aggregator.program);
    });
    afterAll(async () => {
      for (const program of programs.reverse()) await program.stop();
    });

    async function chat(): Promise<Routed> {
      const answer = await fetch(`${frontend.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'tiny',
          max_tokens: 2,
          messages: [{ role: 'user', content: WORDS.map((word) => `w${word}`).join(' ') }],
          nvext: { extra_fields: ['timing'] },
        }),
      });
      const { usage, nvext } = (await answer.json()) as {
        usage: { prompt_tokens_details: { cached_tokens: number } };
        nvext: { timing: { kv_hit_rate: number } };
      };
      return {
        cachedTokens: usage.prompt_tokens_details.cached_tokens,
        believedShare: nvext.timing.kv_hit_rate,
      };
    }

    it('all declare 16 and agree on it, for nothing has shown otherwise yet', async () => {
      for (const sidecar of sidecars)
        expect((await completeReport(sidecar)).contract?.tokensPerBlock).toBe(16);
      const agreement = await until('the agreement', async () => {
        const now = await agreementOf(aggregator);
        return now.state === AgreementState.AGREED && now;
      });
      expect(agreement).toMatchObject({ epoch: 1n, gateOpen: true, contract: { tokensPerBlock: 16 } });
    });

    it('are named at their first event with both numbers, while Dynamo itself says nothing', async () => {
      const errors = (): string[] =>
        logLines(aggregator.program).flatMap(({ level, msg }) => (level === 'error' ? [msg] : []));
      const first = await chat();
      expect(first).toEqual({ cachedTokens: 0, believedShare: 0 });
      const sentMs = performance.now();
      await until('the first worker to be named', () => errors().length > 0, {
        needs: programs,
        pollMs: 20,
      });
      console.log(
        `the first worker was named ${Math.round(performance.now() - sentMs)} ms after its first prompt`,
      );

      // The engines reuse what the router does not see; so it takes now the one and now the other.
      let cachedTokens = 0;
      await until(
        'the second worker to be named',
        async () => {
          const routed = await chat();
          expect(routed.believedShare).toBe(0);
          cachedTokens += routed.cachedTokens;
          return errors().length === 2;
        },
        { needs: programs },
      );
      cachedTokens += (await chat()).cachedTokens;
      expect(cachedTokens).toBeGreaterThan(0);
      const names = sidecars.map((sidecar) => `${sidecar.program.name} (${addressOf(sidecar)})`);
      expect(errors().sort()).toEqual(names.map(threeLines).sort());
      expect(frontend.program.log).not.toMatch(/block.?size/i);
      expect(frontend.program.log).not.toMatch(/^\S+ +ERROR/m);
    });

    it('are followed: a new epoch has 32, and the index is of use', async () => {
      const agreement = await until('the new epoch', async () => {
        const now = await agreementOf(aggregator);
        return now.epoch === 2n && now;
      });
      expect(agreement).toMatchObject({ gateOpen: true, contract: { tokensPerBlock: 32 } });
      await untilVerified(aggregator);
      const { matches, blockCount } = await findMatches(aggregator, { tokens: TOKENS });
      expect(blockCount).toBe(12);
      expect(matches.map(({ deviceBlocks }) => deviceBlocks)).toEqual([12, 12]);
      const { members } = await agreementOf(aggregator);
      for (const member of members) {
        expect(member).toMatchObject({
          state: MemberState.VERIFIED,
          tokensPerBlock: 32,
          declaredTokensPerBlock: 16,
        });
      }
    });

    it('are refused for a frontend that goes by what they declare', async () => {
      const wait = startKvAccord('wait-declared', [
        ...['wait', '--workers', addressesOf(sidecars), '--frontend-uses', 'declared', '--timeout', '30s'],
      ]);
      expect(await wait.ended).toBe(4);
      expect(wait.log).toMatch(/declares 16/);
      expect(wait.log).toMatch(/uses 32/);
    });
  },
);
