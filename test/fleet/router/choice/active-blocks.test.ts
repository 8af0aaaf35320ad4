import { describe, expect, it } from 'vitest';
import { ActiveBlocks, type ActiveRequest } from '../../../../src/fleet/router/choice/active-blocks.js';
import { pack } from '../../../support/kv-events.js';
import { chainOf } from '../support/chained.js';

const TOKENS_PER_BLOCK = 16;

/** A request with these whole blocks and some tokens more, on a rank. */
function add(
  active: ActiveBlocks,
  rank: number,
  blocks: readonly number[],
  moreTokens = 0,
  prefillTokens = 0,
): ActiveRequest {
  const sequenceHashes = chainOf(blocks);
  const tokenCount = TOKENS_PER_BLOCK * blocks.length + moreTokens;
  return active.add(rank, { sequenceHashes, tokenCount, prefillTokens });
}

function shared(active: ActiveBlocks, rank: number, blocks: readonly number[]): number {
  const { count, holders, depths } = active.match(chainOf(blocks));
  const at = holders.subarray(0, count).indexOf(rank);
  return at === -1 ? 0 : (depths[at] as number);
}

function addRank(active: ActiveBlocks): number {
  const rank = active.addRank();
  if (rank === undefined) throw new Error('there is no number left');
  return rank;
}

function twoRanks(maxTrackedBlocks?: number): { active: ActiveBlocks; one: number; other: number } {
  const active = new ActiveBlocks(TOKENS_PER_BLOCK, maxTrackedBlocks);
  return { active, one: addRank(active), other: addRank(active) };
}

describe('active blocks', () => {
  it('count what requests on one rank share once, and on another rank again', () => {
    const { active, one, other } = twoRanks();
    const first = add(active, one, [1, 2, 3]);
    const second = add(active, one, [1, 2, 4]);
    add(active, other, [1, 2, 3]);
    expect(active.blocksOn(one)).toBe(4);
    expect(active.blocksOn(other)).toBe(3);
    expect(shared(active, one, [1, 2, 5])).toBe(2);
    first.release();
    expect(active.blocksOn(one)).toBe(3);
    expect(shared(active, one, [1, 2, 3])).toBe(2);
    second.release();
    expect(active.blocksOn(one)).toBe(0);
    expect(shared(active, one, [1, 2, 3])).toBe(0);
    expect(active.blocksOn(other)).toBe(3);
  });

  it('count a last partial block and what is generated for the request alone, by whole blocks', () => {
    const { active, one } = twoRanks();
    const request = add(active, one, [1, 2], 10);
    add(active, one, [1, 2], 10);
    expect(active.blocksOn(one)).toBe(4);
    request.progress(6);
    expect(active.blocksOn(one)).toBe(4);
    request.progress(7);
    expect(active.blocksOn(one)).toBe(5);
    request.progress(6 + 16 * 3);
    expect(active.blocksOn(one)).toBe(7);
    request.release();
    expect(active.blocksOn(one)).toBe(3);
  });

  it('believe no output that shrinks, is no number, or is beyond all measure', () => {
    const { active, one } = twoRanks();
    const request = add(active, one, [1]);
    request.progress(16);
    for (const tokens of [3, -1, Number.NaN]) request.progress(tokens);
    expect(active.blocksOn(one)).toBe(2);
    request.progress(Number.POSITIVE_INFINITY);
    expect(active.blocksOn(one)).toBe(1 + 2 ** 28);
    request.release();
    expect(active.blocksOn(one)).toBe(0);
  });

  it('count prompt tokens that are being computed until the first token has come', () => {
    const { active, one } = twoRanks();
    const first = add(active, one, [1, 2], 0, 30);
    const second = add(active, one, [3], 0, 16);
    expect(active.prefillingTokensOn(one)).toBe(46);
    first.prefillDone();
    first.prefillDone();
    expect(active.prefillingTokensOn(one)).toBe(16);
    second.release();
    expect(active.prefillingTokensOn(one)).toBe(0);
  });

  it('of a request whose tokens are not known count what it generates', () => {
    const { active, one } = twoRanks();
    const request = active.add(one, undefined);
    expect(active.requestsOn(one)).toBe(1);
    expect(active.blocksOn(one)).toBe(0);
    request.progress(17);
    expect(active.blocksOn(one)).toBe(2);
    request.release();
    expect(active.blocksOn(one)).toBe(0);
    expect(active.requestsOn(one)).toBe(0);
  });

  it('are released once, however often that is said', () => {
    const { active, one } = twoRanks();
    const request = add(active, one, [1, 2]);
    const other = add(active, one, [1, 2]);
    request.release();
    request.release();
    request.progress(100);
    expect(active.blocksOn(one)).toBe(2);
    other.release();
    expect(active.trackedBlocks).toBe(0);
  });

  it('end with their rank, whose number is given to another', () => {
    const { active, one, other } = twoRanks();
    const request = add(active, one, [1, 2], 5);
    add(active, other, [1, 2]);
    active.dropRank(one);
    expect(active.trackedBlocks).toBe(2);
    const next = addRank(active);
    expect(next).toBe(one);
    request.progress(100);
    request.release();
    expect([active.blocksOn(next), active.requestsOn(next)]).toEqual([0, 0]);
    expect(shared(active, next, [1, 2])).toBe(0);
    active.dropRank(one);
    active.dropRank(one);
    expect(() => active.add(one, undefined)).toThrow(RangeError);
  });

  it('all end when their epoch does', () => {
    const { active, one } = twoRanks();
    const request = add(active, one, [1, 2]);
    active.close();
    request.prefillDone();
    request.progress(40);
    request.release();
    expect(active.blocksOn(one)).toBe(0);
  });

  it('beyond the bound count by their number alone, and all of it comes back', () => {
    const { active, one } = twoRanks(3);
    const first = add(active, one, [1, 2]);
    const second = add(active, one, [1, 2, 3, 4, 5], 1);
    expect(active.trackedBlocks).toBe(3);
    expect(active.untrackedBlocks).toBe(2);
    expect(active.blocksOn(one)).toBe(6);
    // Those that are known are still shared.
    const third = add(active, one, [1, 2, 3, 4, 5]);
    expect(active.blocksOn(one)).toBe(8);
    expect(active.untrackedBlocks).toBe(4);
    for (const request of [first, second, third]) request.release();
    expect(active.blocksOn(one)).toBe(0);
    expect(active.trackedBlocks).toBe(0);
  });

  it('are those of each prompt by itself also where hashes collide, or are much alike', () => {
    const { active, one } = twoRanks();
    // The third block of both prompts has the same hash after different ones.
    const prompts = [[1, 2, 9, 4], [5, 6, 9, 4], [1, 2, 9], [5]].map((blocks) => pack(blocks));
    const requests = [...prompts, ...prompts].map((sequenceHashes) => {
      const tokenCount = 2 * sequenceHashes.length;
      return active.add(one, { sequenceHashes, tokenCount, prefillTokens: 0 });
    });
    expect(active.blocksOn(one)).toBe(8);
    for (const request of requests) request.release();
    expect([active.blocksOn(one), active.trackedBlocks]).toEqual([0, 0]);
  });

  it('may be there where they are, and mostly not where they are not', () => {
    const { active, one, other } = twoRanks();
    const lows = (from: number): number[] => Array.from({ length: 600 }, (_, at) => 7_919 * (from + at));
    const request = active.add(one, { sequenceHashes: pack(lows(0)), tokenCount: 9_600, prefillTokens: 0 });
    expect(lows(0).every((low) => active.mayHave(one, low))).toBe(true);
    expect(lows(600).filter((low) => active.mayHave(one, low)).length).toBeLessThan(100);
    expect(lows(0).some((low) => active.mayHave(other, low))).toBe(false);
    // What comes after it was asked for the first time.
    for (let from = 600; from < 12_000; from += 600) {
      active.add(one, { sequenceHashes: pack(lows(from)), tokenCount: 9_600, prefillTokens: 0 });
      expect(lows(from).every((low) => active.mayHave(one, low))).toBe(true);
    }
    request.release();
    active.dropRank(one);
    expect(lows(600).some((low) => active.mayHave(one, low))).toBe(false);
  });

  it('have at most 65,535 ranks', () => {
    const active = new ActiveBlocks(TOKENS_PER_BLOCK);
    for (let rank = 0; rank < 65_535; rank += 1) expect(active.addRank()).toBe(rank);
    expect(active.addRank()).toBeUndefined();
    active.dropRank(7);
    expect(active.addRank()).toBe(7);
  });
});
