import { expect, it } from 'vitest';
import { hitOfIndex } from '../../support/hit-of-index.js';
import { longestHitTokens } from '../../support/longest-hit.js';
import { type DrawnHit, questionOf, randomHits } from '../../support/random-hits.js';

const CASES = 100_000;

it('finds the same hits in 100,000 random caches as a second implementation', () => {
  const draw = randomHits(1);
  const different: unknown[] = [];
  let hits = 0;
  for (let i = 0; i < CASES; i += 1) {
    const drawn = draw.next().value as DrawnHit;
    const expected = longestHitTokens(questionOf(drawn));
    const found = hitOfIndex(drawn);
    if (expected > 0) hits += 1;
    if (found !== expected) different.push({ drawn, expected, found });
  }
  expect(different.slice(0, 3)).toEqual([]);
  expect(hits).toBeGreaterThan(CASES / 5);
});

it('finds the same hits where they end on multiples that are wider than every block', () => {
  const draw = randomHits(2);
  const different: unknown[] = [];
  let hits = 0;
  for (let i = 0; i < CASES / 10; i += 1) {
    const plain = draw.next().value as DrawnHit;
    // Both are for blocks of one width alone.
    if (plain.tables.some(({ kind, computesLastAgain }) => kind === 'chunked' || computesLastAgain)) continue;
    const multiple = plain.tables.reduce((product, { tokensPerBlock }) => product * tokensPerBlock, 1);
    const drawn = { ...plain, alignmentTokens: (1 + (i % 3)) * multiple };
    const expected = longestHitTokens(questionOf(drawn));
    const found = hitOfIndex(drawn);
    if (expected > 0) hits += 1;
    if (found !== expected) different.push({ drawn, expected, found });
  }
  expect(different.slice(0, 3)).toEqual([]);
  expect(hits).toBeGreaterThan(500);
});
