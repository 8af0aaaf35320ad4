import { describe, expect, it } from 'vitest';
import type { Decision } from '../../src/router/routing.js';
import {
  predictedCachedTokens,
  TruthCheck,
  type TruthFinding,
  truthWords,
} from '../../src/router/truth-check.js';

function decision(sketch: Partial<Decision> = {}): Decision {
  return {
    group: 'tiny',
    target: 'w-1',
    workerId: 'w-1',
    instanceId: 'w-1-1',
    rank: 0,
    rankCount: 1,
    epoch: 1,
    tokensPerBlock: 32,
    promptTokens: 100,
    promptBlocks: 4,
    cachedBlocks: 2,
    isExact: true,
    routingMode: 'exact',
    ...sketch,
  };
}

/** `count` requests of `decision`, each with so many tokens cached; what came of it. */
function record(check: TruthCheck, count: number, cachedTokens: number, its = decision()): TruthFinding[] {
  return Array.from({ length: count }, () =>
    check.record(its, { promptTokens: its.promptTokens ?? 0, cachedTokens }),
  ).filter((finding) => finding !== undefined);
}

describe('what an engine should report as cached', () => {
  it.each<readonly [string, Partial<Decision>, number]>([
    ['its blocks', {}, 64],
    ['one block less, where it holds the whole prompt', { promptTokens: 64, promptBlocks: 2 }, 32],
    ['all its blocks, where one more token follows', { promptTokens: 65, promptBlocks: 3 }, 64],
    ['nothing of a prompt of one held block', { promptTokens: 32, promptBlocks: 1, cachedBlocks: 1 }, 0],
    ['nothing, where the tokens are not known', { promptTokens: undefined, cachedBlocks: 0 }, 0],
    ['nothing, where it holds nothing', { cachedBlocks: 0 }, 0],
  ])('is %s', (_, sketch, tokens) => {
    expect(predictedCachedTokens(decision(sketch))).toBe(tokens);
  });
});

describe('the truth check', () => {
  it('says nothing as long as engines report what was expected, or more', () => {
    const check = new TruthCheck();
    expect(record(check, 200, 64)).toEqual([]);
    expect(record(check, 200, 96)).toEqual([]);
  });

  it('tells once of a worker that does not have what was expected, with both numbers, and once when it has again', () => {
    const check = new TruthCheck();
    expect(record(check, 49, 0)).toEqual([]);
    const [failing, ...rest] = record(check, 500, 0);
    expect(failing).toEqual({
      target: 'w-1',
      isFailing: true,
      requests: 50,
      predictedTokens: 3_200,
      confirmedTokens: 0,
    });
    expect(rest).toEqual([]);
    const again = record(check, 500, 64);
    expect(again).toEqual([
      { target: 'w-1', isFailing: false, requests: 50, predictedTokens: 3_200, confirmedTokens: 2_432 },
    ]);
  });

  it('lets half be missing, and not more', () => {
    const half = new TruthCheck();
    expect(record(half, 200, 32)).toEqual([]);
    const less = new TruthCheck();
    expect(record(less, 200, 31)).toHaveLength(1);
  });

  it('does not let one request that found more make up for another that found nothing', () => {
    const check = new TruthCheck();
    const findings = Array.from({ length: 50 }, () => [
      ...record(check, 1, 1_000_000),
      ...record(check, 3, 0),
    ]).flat();
    expect(findings).toMatchObject([{ isFailing: true, predictedTokens: 3_200 }]);
  });

  it('judges nothing that was no exact knowledge, no expectation, or not told', () => {
    const check = new TruthCheck();
    expect(record(check, 200, 0, decision({ isExact: false }))).toEqual([]);
    expect(record(check, 200, 0, decision({ cachedBlocks: 0 }))).toEqual([]);
    expect(record(check, 200, Number.NaN)).toEqual([]);
    expect(record(check, 200, -1)).toEqual([]);
    for (let at = 0; at < 200; at += 1)
      expect(check.record(decision(), { promptTokens: 100, cachedTokens: undefined })).toBeUndefined();
  });

  it('keeps workers apart, and begins anew with a new start of an engine', () => {
    const check = new TruthCheck();
    expect(record(check, 49, 0)).toEqual([]);
    expect(record(check, 49, 0, decision({ target: 'w-2' }))).toEqual([]);
    expect(record(check, 49, 0, decision({ instanceId: 'w-1-2' }))).toEqual([]);
    expect(record(check, 1, 0, decision({ instanceId: 'w-1-2' }))).toHaveLength(1);
    expect(record(check, 1, 0, decision({ target: 'w-2' }))).toHaveLength(1);
  });

  it('forgets who has left', () => {
    const check = new TruthCheck();
    record(check, 49, 0);
    check.keepOnly(new Set(['w-2']));
    expect(record(check, 49, 0)).toEqual([]);
  });

  it('names worker, numbers, and where to look', () => {
    const finding = {
      target: 'w-1',
      isFailing: true,
      requests: 50,
      predictedTokens: 3_200,
      confirmedTokens: 64,
    };
    const words = truthWords(finding);
    for (const part of ['w-1', '3200', ' 64', '50', 'block size', 'LoRA', 'salt', 'hash seed', 'evictions'])
      expect(words).toContain(part);
    expect(truthWords({ ...finding, isFailing: false })).toContain('come true again');
  });
});
