import { describe, expect, it } from 'vitest';
import { hitOfIndex } from '../support/hit-of-index.js';
import { longestHitTokens } from '../support/longest-hit.js';
import { type DrawnHit, type DrawOptions, questionOf, randomHits } from '../support/random-hits.js';
import { lacks } from './support/peers.js';
import { askVllmForHits } from './support/vllm-hits.js';

/** 5,000 take vLLM 5 s, and another 10 s to load. */
const CASES = Number(process.env['KV_ACCORD_HYBRID_CASES'] ?? 5_000);

describe.skipIf(lacks('vllm'))("vLLM's own KV cache coordinator, asked without an engine", () => {
  it('finds the hits in random caches that the index finds, and that the second implementation does', async () => {
    const answered = await askAbout(1, { eagle: 'usual' });
    for (const [name, finds] of [
      ['index', hitOfIndex],
      ['second', (drawn: DrawnHit) => longestHitTokens(questionOf(drawn))],
    ] as const) {
      const different = answered.filter(({ drawn, vllm }) => vllm !== finds(drawn));
      expect({ name, different: different.slice(0, 3) }).toEqual({ name, different: [] });
    }
  });

  it('finds the hits that the index finds also with EAGLE in any of its groups', async () => {
    const answered = await askAbout(2, { eagle: 'any' });
    expect(answered.filter(({ drawn, vllm }) => vllm !== hitOfIndex(drawn)).slice(0, 3)).toEqual([]);
  });
});

/** What vLLM answers to random cases; without the few that it cannot be made for. */
async function askAbout(
  seed: number,
  options: DrawOptions,
): Promise<{ readonly drawn: DrawnHit; readonly vllm: number }[]> {
  const draw = randomHits(seed, options);
  const cases = Array.from({ length: CASES }, () => draw.next().value as DrawnHit);
  const hits = await askVllmForHits(cases);
  const answered = cases.flatMap((drawn, i) => {
    const vllm = hits[i];
    return vllm === undefined ? [] : [{ drawn, vllm }];
  });
  const some = answered.filter(({ vllm }) => vllm > 0).length;
  const eagle = answered.filter(({ drawn }) => drawn.tables.some((table) => table.computesLastAgain)).length;
  console.log(`vLLM answered ${answered.length} of ${CASES} cases, ${eagle} with EAGLE, ${some} with a hit`);
  expect(answered.length).toBeGreaterThan(0.9 * CASES);
  expect(some).toBeGreaterThan(CASES / 5);
  return answered;
}
