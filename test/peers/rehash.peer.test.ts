import { describe, expect, it } from 'vitest';
import { prefill, words } from './support/completions.js';
import { type ExactFleet, routesExactly, startExactFleet } from './support/exact-fleet.js';
import { EXACT_MODEL } from './support/exact-kinds.js';
import { measureExactness } from './support/exactness.js';
import { logLines, probe } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { startSglang } from './support/sglang.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';
import { startVllm } from './support/vllm.js';

/** 300 take about 5 minutes. */
const REQUESTS = Number(process.env['KV_ACCORD_REHASH_REQUESTS'] ?? 24);
const SEED = 7;
const LONGEST_WORDS = 600;
const CANONICAL = 32;
const LIMIT_MS = 1_800_000;
const AGREED = /^kv_accord_agreed_tokens_per_block\{[^}]*\} (\d+)$/m;

describe.skipIf(lacks('vllm', 'sglang'))(
  'a real SGLang with pages of 1 token beside a vLLM with blocks of 32',
  () => {
    it('agree on 32 with --block-size-policy=rehash, and no prediction is above what the engine counts', {
      timeout: LIMIT_MS,
    }, async () => {
      const model = tinyModel(EXACT_MODEL, 'llama', { folderName: 'rehash' });
      // Caches so small that they evict.
      const engines = await Promise.all([
        startSglang({ model, pageSize: 1, tokens: 6_400 }),
        startVllm({ model, blockSize: CANONICAL, blocks: 200, developerMode: true, flags: [] }),
      ]);
      const fleet = await startExactFleet(engines, { frontend: ['--block-size-policy', 'rehash'] });
      try {
        await untilExact(fleet);
        const messages = logLines(fleet.frontend.program).map(({ msg }) => msg);
        expect(messages).toContainEqual(
          expect.stringMatching(
            /has blocks of 1 token, which its sidecar will re-hash into blocks of the agreed 32 tokens/,
          ),
        );
        const measured = await measureExactness(fleet, {
          model: EXACT_MODEL,
          tokensPerBlock: CANONICAL,
          requests: REQUESTS,
          seed: SEED,
          longestWords: LONGEST_WORDS,
        });
        const workers = new Set(measured.seen.map(({ worker }) => worker));
        console.log(
          `${measured.seen.length} requests to ${workers.size} workers: predicted ${measured.predictedTokens}, counted ${measured.cachedTokens}, over ${measured.over.length}`,
        );
        expect(workers.size).toBe(2);
        expect(measured.over).toEqual([]);
        // All but the rest that fills no block of 32.
        const missed = measured.seen.filter(
          ({ predictedTokens, cachedTokens }) =>
            predictedTokens !== CANONICAL * Math.floor(cachedTokens / CANONICAL),
        );
        expect(missed).toEqual([]);
        expect(measured.modes).toEqual({ exact: REQUESTS });
        expect(measured.predictedTokens).toBeGreaterThan(0);
      } finally {
        await fleet.stopOwn();
        for (const { program } of engines) await program.stop();
      }
    });
  },
);

/** Has each engine compute a prompt, so that it publishes; resolves once the gate is open at 32 and all caches are known. */
async function untilExact({ engines, frontend }: ExactFleet): Promise<void> {
  for (const engine of engines) await prefill(engine, { tokens: words(LONGEST_WORDS / 4, 0, 3) });
  await until(
    'the gate to be open at 32, and all caches to be known',
    async () => {
      const { body } = await probe(frontend, '/metrics');
      return Number(AGREED.exec(body)?.[1]) === CANONICAL && (await routesExactly(frontend));
    },
    { needs: [frontend.program] },
  );
}
