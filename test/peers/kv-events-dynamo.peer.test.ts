import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DynamoFrontend, type Mocker, startDynamoFrontend, startMocker } from './support/dynamo.js';
import { EngineTruth } from './support/engine-truth.js';
import { addressOf, findMatches, untilExact, untilVerified } from './support/index-client.js';
import { type Served, startAggregator, startSidecar, startSidecarOn } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { completeReport } from './support/report.js';
import { tinyModel } from './support/tiny-model.js';

const WIDTH = 32;
const RANKS = [0, 1];

/** 300 words that no other prompt begins with. */
function wordsOf(prompt: number): number[] {
  return Array.from({ length: 300 }, (_, i) => (prompt * 37 + i * 5) % 2032);
}

/** What the tiny model's chat template and tokenizer make of them: `<bos> <|user|> … <|end|> <|assistant|>`. */
function tokensOf(prompt: number): number[] {
  return [1, 5, ...wordsOf(prompt).map((word) => 16 + word), 7, 6];
}

describe.skipIf(lacks('dynamo', 'grpcurl'))(
  'the KV events of a real Dynamo mocker with two data-parallel ranks',
  () => {
    let mocker: Mocker;
    let frontend: DynamoFrontend;
    let truths: EngineTruth[];
    let flags: string[];
    let sidecar: Served;
    let target: string;
    let aggregator: Served;

    beforeAll(async () => {
      mocker = await startMocker(tinyModel('tiny'), WIDTH, { ranks: RANKS.length, blocks: 64 });
      truths = await Promise.all(mocker.ranks.map((ports) => EngineTruth.of(ports)));
      const listed = (name: 'zmq' | 'replay'): string =>
        mocker.ranks.map((ports) => `tcp://127.0.0.1:${ports[name]}`).join(',');
      flags = ['--engine', mocker.url, '--dynamo-file-kv', mocker.fileKv];
      flags.push('--kv-event-sources', listed('zmq'), '--kv-replay-sources', listed('replay'));
      sidecar = await startSidecar('worker-0', ...flags);
      target = addressOf(sidecar);
      await completeReport(sidecar);
      frontend = await startDynamoFrontend(mocker.fileKv);
    });
    afterAll(async () => {
      for (const served of [aggregator, sidecar, frontend, mocker]) await served?.program.stop();
    });

    async function chat(prompt: number): Promise<void> {
      const content = wordsOf(prompt)
        .map((word) => `w${word}`)
        .join(' ');
      const answer = await fetch(`${frontend.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'tiny', max_tokens: 2, messages: [{ role: 'user', content }] }),
      });
      expect(answer.status).toBe(200);
      await answer.arrayBuffer();
    }

    async function untilAllExact(): Promise<void> {
      for (const rank of RANKS) {
        const truth = await (truths[rank] as EngineTruth).settled();
        await untilExact(aggregator, target, truth, performance.now(), rank);
      }
    }

    it('are kept by rank, as both caches fill and overflow', async () => {
      aggregator = await startAggregator('aggregator', [sidecar]);
      for (let prompt = 0; prompt < 4; prompt += 1) await chat(prompt);
      await untilAllExact();
      for (let prompt = 4; prompt < 40; prompt += 1) await chat(prompt);
      await untilAllExact();
      await untilVerified(aggregator);
      for (const truth of truths) {
        const { removed, blocks } = await truth.settled();
        expect(removed).toBeGreaterThan(30);
        // The mocker's own hashes are those of Dynamo's router, which the index has to have.
        for (const [hash, block] of blocks) expect(BigInt.asUintN(64, BigInt(hash))).toBe(block.sequenceHash);
      }
    });

    it('say of a prompt which rank has it', async () => {
      await chat(40);
      await untilAllExact();
      const { matches, blockCount } = await findMatches(aggregator, { tokens: tokensOf(40) });
      expect(blockCount).toBe(9);
      expect(matches).toMatchObject([{ target, deviceBlocks: 9 }]);
    });

    it('are whole again after a sidecar was killed', async () => {
      expect(await sidecar.program.kill()).toBe(137);
      for (let prompt = 41; prompt < 50; prompt += 1) await chat(prompt);
      sidecar = await startSidecarOn(sidecar.grpcPort, 'worker-0', ...flags);
      await untilAllExact();
      await untilVerified(aggregator);
    });
  },
);
