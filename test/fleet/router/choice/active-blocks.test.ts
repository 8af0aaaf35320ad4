import { describe, expect, it } from 'vitest';
import { ActiveBlocks, type ActiveRequest } from '../../../../src/fleet/router/choice/active-blocks.js';
import { pack } from '../../../support/kv-events.js';
import { packedFrom } from '../../../support/packed-hashes.js';
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
  return active.add(rank, {
    sequenceHashes,
    tokenCount,
    sharedBlocks: shared(active, rank, blocks),
    prefillTokens,
  });
}

function shared(active: ActiveBlocks, rank: number, blocks: readonly number[]): number {
  const { count, holders, depths } = active.match(chainOf(blocks));
  const at = holders.subarray(0, count).indexOf(rank);
  return at === -1 ? 0 : (depths[at] as number);
}

function twoRanks(maxTrackedBlocks?: number): { active: ActiveBlocks; one: number; other: number } {
  const active = new ActiveBlocks(TOKENS_PER_BLOCK, maxTrackedBlocks);
  return { active, one: active.addRank(), other: active.addRank() };
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
    const next = active.addRank();
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

  it('come to nothing in the end also when hashes collide', () => {
    const { active, one } = twoRanks();
    // The third block of both prompts has the same hash after different ones.
    const prompts = [[1, 2, 9, 4], [5, 6, 9, 4], [1, 2, 9], [5]].map((blocks) => pack(blocks));
    const requests = [...prompts, ...prompts].map((sequenceHashes) => {
      const { count, depths } = active.match(sequenceHashes);
      const sharedBlocks = count === 0 ? 0 : (depths[0] as number);
      const tokenCount = 2 * sequenceHashes.length;
      return active.add(one, { sequenceHashes, tokenCount, sharedBlocks, prefillTokens: 0 });
    });
    expect(active.blocksOn(one)).toBeGreaterThanOrEqual(6);
    for (const request of requests) {
      request.release();
      expect(active.blocksOn(one)).toBeGreaterThanOrEqual(0);
    }
    expect([active.blocksOn(one), active.trackedBlocks]).toEqual([0, 0]);
  });

  it('count blocks by their number whose hashes are too much alike for the index', () => {
    const { active, one } = twoRanks();
    // The inverse of how the index spreads hashes, so that all these come to one place of its table.
    const alike = Array.from({ length: 4_000 }, (_, low) => {
      const mixed = BigInt.asUintN(64, ((0xbeefcafen << 32n) | BigInt(low)) * 0xf1de83e19937733dn);
      return mixed ^ (mixed >> 32n);
    });
    const sequenceHashes = packedFrom(alike);
    const request = active.add(one, {
      sequenceHashes,
      tokenCount: 64_000,
      sharedBlocks: 0,
      prefillTokens: 0,
    });
    expect([active.trackedBlocks, active.untrackedBlocks]).toEqual([0, 4_000]);
    expect(active.blocksOn(one)).toBe(4_000);
    expect(active.match(sequenceHashes).count).toBe(0);
    request.release();
    expect(active.blocksOn(one)).toBe(0);
  });

  it('stand on when blocks are named as shared that nobody holds', () => {
    const { active, one } = twoRanks();
    const request = active.add(one, {
      sequenceHashes: chainOf([1, 2, 3]),
      tokenCount: 48,
      sharedBlocks: 9,
      prefillTokens: 0,
    });
    expect(active.blocksOn(one)).toBe(3);
    request.release();
    expect(active.blocksOn(one)).toBe(0);
  });
});
