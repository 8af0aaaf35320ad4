import { describe, expect, it } from 'vitest';
import type { CacheView } from '../../../../src/core/contract/wire/cache-view.js';
import {
  type Amendment,
  compare,
  predictedCachedTokens,
  readReported,
} from '../../../../src/fleet/router/results/compare.js';
import type { Prediction } from '../../../../src/fleet/router/results/prediction.js';
import { makePrediction } from '../support/predictions.js';

/** Unexplained tokens, over and under. */
function judge(prediction: Prediction, cachedTokens: number, amendment?: Amendment): [number, number] {
  const { promptTokens = 0 } = prediction.decision;
  const { overTokens, underTokens } = compare(prediction, { promptTokens, cachedTokens }, amendment);
  return [overTokens, underTokens];
}

describe('what an engine should report as cached', () => {
  it.each([
    ['its blocks', {}, 64],
    ['one block less, where it holds the whole prompt', { promptTokens: 64, promptBlocks: 2 }, 32],
    ['all its blocks, where one more token follows', { promptTokens: 65, promptBlocks: 3 }, 64],
    ['nothing, where the tokens are not known', { promptTokens: undefined, promptBlocks: 0 }, 0],
  ])('is %s', (_, decision, expected) => {
    expect(predictedCachedTokens(makePrediction({ decision }))).toBe(expected);
  });

  it('is nothing where it will not read its cache, and nothing then contradicts that', () => {
    const unread = makePrediction({ cacheUse: 'unread' });
    expect(predictedCachedTokens(unread)).toBe(0);
    expect(judge(unread, 0)).toEqual([0, 0]);
    expect(judge(unread, 64)).toEqual([0, 0]);
  });
});

describe('a result of a prompt of which the beginning alone is known', () => {
  const decision = { promptTokens: undefined, promptBlocks: 3, cachedBlocks: 2 };
  const prefix = makePrediction({ decision, view: 'partial', prefixTokens: 96, deviceBlocks: 2 });

  it('has all whole blocks of that beginning, for more follows', () => {
    expect(predictedCachedTokens(prefix)).toBe(64);
    expect(judge(prefix, 32)).toEqual([32, 0]);
    const whole = { ...decision, cachedBlocks: 3 };
    const all = makePrediction({ decision: whole, view: 'partial', prefixTokens: 96, deviceBlocks: 3 });
    expect(predictedCachedTokens(all)).toBe(96);
  });

  it('may be as high as the engine says, and is of no other prompt', () => {
    expect(judge(prefix, 640)).toEqual([0, 0]);
    expect(compare(prefix, { promptTokens: 700, cachedTokens: 64 }).isOtherPrompt).toBe(false);
  });
});

describe('a result of an exact view', () => {
  it('agrees with the prediction alone', () => {
    expect(judge(makePrediction(), 64)).toEqual([0, 0]);
    expect(judge(makePrediction(), 32)).toEqual([32, 0]);
    expect(judge(makePrediction(), 96)).toEqual([0, 32]);
  });

  it('may have a part of a block more, of an engine whose blocks are smaller', () => {
    expect(judge(makePrediction(), 64 + 31)).toEqual([0, 0]);
  });

  it('may be as high as what a lower tier holds, and as low as the device', () => {
    const tiers = makePrediction({ deviceBlocks: 1 });
    expect(judge(tiers, 32)).toEqual([0, 0]);
    expect(judge(tiers, 64)).toEqual([0, 0]);
    expect(judge(tiers, 0)).toEqual([32, 0]);
  });

  it('may be as high as a prompt on its way reaches, or what is found there later', () => {
    expect(judge(makePrediction({ inFlightBlocks: 3 }), 96)).toEqual([0, 0]);
    expect(judge(makePrediction(), 96, { foundBlocks: 3 })).toEqual([0, 0]);
    expect(judge(makePrediction({ inFlightBlocks: 1 }), 96)).toEqual([0, 32]);
  });

  it('may be as low as what was evicted while the request waited', () => {
    expect(judge(makePrediction(), 0, { keptBlocks: 0 })).toEqual([0, 0]);
    expect(judge(makePrediction(), 0, { keptBlocks: 1 })).toEqual([32, 0]);
  });

  it('may be as high as the whole prompt, of several answers to it', () => {
    const several = makePrediction({ cacheUse: 'several' });
    expect(judge(several, 96)).toEqual([0, 0]);
    expect(judge(several, 32)).toEqual([32, 0]);
  });
});

it.each<readonly [CacheView, [number, number], [number, number]]>([
  ['exact', [64, 0], [0, 32]],
  ['partial', [64, 0], [0, 0]],
  ['approximate', [0, 0], [0, 0]],
  ['stale', [0, 0], [0, 0]],
  ['none', [0, 0], [0, 0]],
])('a view that is %s is contradicted by what it says alone', (view, nothing, more) => {
  expect(judge(makePrediction({ view }), 0)).toEqual(nothing);
  expect(judge(makePrediction({ view }), 96)).toEqual(more);
});

it('an engine that counts another number of prompt tokens got another prompt', () => {
  const { isOtherPrompt } = compare(makePrediction(), { promptTokens: 101, cachedTokens: 64 });
  expect(isOtherPrompt).toBe(true);
});

it.each([
  [Number.NaN, 0],
  [100, -1],
  [100, 101],
  [0, 0],
  [100.5, 0],
  [Number.MAX_SAFE_INTEGER, 0],
])('a report of %d prompt tokens with %d of them cached is none', (promptTokens, cachedTokens) => {
  expect(readReported(promptTokens, cachedTokens)).toBeUndefined();
});
