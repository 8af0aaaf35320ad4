import { describe, expect, it } from 'vitest';
import { longestHitTokens } from '../support/longest-hit.js';
import { type DrawnHit, questionOf, randomHits } from '../support/random-hits.js';
import { lacks } from './support/peers.js';
import { askVllmForHits } from './support/vllm-hits.js';

const SEED = 2_026;
/** As many as 5,000 take 15 s. */
const CASES = Number(process.env['KV_ACCORD_HYBRID_CASES'] ?? 5_000);
/** vLLM refuses chunked attention beside EAGLE, and beside blocks of another width. */
const ANSWERED_PART = 0.7;

describe.skipIf(lacks('vllm'))("vLLM's own KV cache coordinator, asked without an engine", () => {
  it('finds the same hits in random caches of random groups as the rules that predictions are checked by', async () => {
    const draw = randomHits(SEED);
    const cases = Array.from({ length: CASES }, () => draw.next().value as DrawnHit);
    const hits = await askVllmForHits(cases);
    const answered = cases.flatMap((drawn, i) => {
      const vllm = hits[i];
      return vllm === undefined ? [] : [{ drawn, vllm, rules: longestHitTokens(questionOf(drawn)) }];
    });
    const some = answered.filter(({ vllm }) => vllm > 0).length;
    const eagle = answered.filter(({ drawn }) => drawn.tables[0]?.computesLastAgain).length;
    console.log(
      `of ${CASES} cases vLLM answered ${answered.length} (${eagle} with EAGLE), ${some} with a hit`,
    );
    expect(answered.filter(({ vllm, rules }) => vllm !== rules)).toEqual([]);
    expect(answered.length).toBeGreaterThan(ANSWERED_PART * CASES);
    expect(some).toBeGreaterThan(CASES / 5);
  });
});
