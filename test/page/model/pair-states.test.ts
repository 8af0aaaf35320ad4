import { describe, expect, it } from 'vitest';
import type { ViewPair, ViewPairGroup } from '../../../src/core/view/view-pairs.js';
import {
  pairCostText,
  pairCounts,
  pairMatrix,
  pairPromiseText,
  pairStateText,
  pairsToExplain,
} from '../../../src/page/model/pair-states.js';

function pairOf(fields: Partial<ViewPair> = {}): ViewPair {
  return {
    ...{ prefillTarget: 'p-0:1', decodeTarget: 'd-0:1', prefill: 'p-0', decode: 'd-0' },
    ...{ state: 'can_pair', tone: 'good', class: 'same_host' },
    ...{ classEvidence: 'node n-0', why: '', isOffered: true, transfers: 0, failedTransfers: 0 },
    ...fields,
  };
}

function groupOf(pairs: readonly ViewPair[]): ViewPairGroup {
  const counts = { can_pair: 2, cannot_say: 0, cannot_pair: 1, set_aside: 1 };
  return { group: 'tiny', prefillCount: 2, decodeCount: 2, counts, isWhole: true, pairs };
}

const OTHERS = { prefill: 'p-1', prefillTarget: 'p-1:1', decode: 'd-1', decodeTarget: 'd-1:1' };

describe('a pair in words', () => {
  it('says its state, and when it is tried again', () => {
    expect(pairStateText(pairOf())).toBe('can pair');
    expect(pairStateText(pairOf({ isSlow: true }))).toBe('can pair, slow');
    expect(pairStateText(pairOf({ state: 'set_aside', retryInMs: 25_400 }))).toBe(
      'set aside, tried again in 25 s',
    );
    expect(pairStateText(pairOf({ state: 'cannot_pair' }))).toBe('cannot pair');
  });

  it('has its cost beside what its class moves, and a dash for what is not known', () => {
    expect(pairCostText(pairOf({ msPerMib: 0.0503, gbPerS: 20.85 }))).toBe('0.05 ms/MiB (21 GB/s)');
    expect(pairCostText(pairOf({ msPerMib: 1_048, gbPerS: 0.001 }))).toBe('1048 ms/MiB (0.001 GB/s)');
    expect(pairCostText(pairOf())).toBe('–');
    expect(pairPromiseText(pairOf({ promisedGbPerS: 25 }))).toBe('25 GB/s');
    expect(pairPromiseText(pairOf())).toBe('–');
  });
});

describe('the pairs of a model', () => {
  const [one, other, third] = [
    pairOf(),
    pairOf({ decode: 'd-1', decodeTarget: 'd-1:1', state: 'cannot_pair' }),
    pairOf({ ...OTHERS, isSlow: true }),
  ];

  it('are counted by state, the worst first', () => {
    expect(pairCounts(groupOf([])).map(({ text }) => text)).toEqual([
      '1 set aside',
      '1 cannot pair',
      '2 can pair',
    ]);
  });

  it('are a row for each prefill worker, with a hole where a pair is not known', () => {
    expect(pairMatrix(groupOf([one, other, third]))).toEqual({
      decodes: [
        { target: 'd-0:1', name: 'd-0' },
        { target: 'd-1:1', name: 'd-1' },
      ],
      rows: [
        { prefill: { target: 'p-0:1', name: 'p-0' }, cells: [one, other] },
        { prefill: { target: 'p-1:1', name: 'p-1' }, cells: [undefined, third] },
      ],
    });
  });

  it('are explained where there is something to say', () => {
    const idle = pairOf({ isOffered: false });
    expect(pairsToExplain(groupOf([one, other, third, idle]))).toEqual([other, third, idle]);
  });
});
