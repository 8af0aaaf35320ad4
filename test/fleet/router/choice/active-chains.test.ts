import { describe, expect, it } from 'vitest';
import { ActiveChains, NONE } from '../../../../src/fleet/router/choice/active-chains.js';

/** Holds a chain of blocks on a rank as a request does, after what is held already; the place of the last. */
function hold(chains: ActiveChains, rank: number, blocks: readonly number[]): number {
  let known = blocks.length;
  while (known > 0 && chains.find(rank, blocks[known - 1] as number, 0) === NONE) known -= 1;
  let last = known === 0 ? NONE : chains.find(rank, blocks[known - 1] as number, 0);
  chains.hold(last);
  for (const block of blocks.slice(known)) last = chains.add(rank, block, 0, last);
  return last;
}

/** Ends a request; the blocks that went. */
function end(chains: ActiveChains, last: number): number[] {
  const gone: number[] = [];
  chains.letGo(last, (lo) => gone.push(lo));
  return gone;
}

function numbers(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => from + at);
}

describe('chains of active blocks', () => {
  it('hold what requests share once, and let it go with the last of them', () => {
    const chains = new ActiveChains(100);
    const first = hold(chains, 0, [1, 2, 3]);
    const second = hold(chains, 0, [1, 2, 4, 5]);
    expect(chains.size).toBe(5);
    expect(end(chains, first)).toEqual([3]);
    expect(end(chains, second)).toEqual([5, 4, 2, 1]);
    expect(chains.size).toBe(0);
  });

  it('keep what a shorter request still holds', () => {
    const chains = new ActiveChains(100);
    const long = hold(chains, 0, [1, 2, 3]);
    const short = hold(chains, 0, [1, 2]);
    const again = hold(chains, 0, [1, 2]);
    expect(end(chains, long)).toEqual([3]);
    expect(end(chains, short)).toEqual([]);
    expect(end(chains, again)).toEqual([2, 1]);
  });

  it('know the same block on two ranks as two, and find by all 64 bits', () => {
    const chains = new ActiveChains(100);
    const place = chains.add(0, 0xffff_ffff, 0x8000_0000, NONE);
    const other = chains.add(1, 0xffff_ffff, 0x8000_0000, NONE);
    expect(chains.find(0, 0xffff_ffff, 0x8000_0000)).toBe(place);
    expect(chains.find(1, 0xffff_ffff, 0x8000_0000)).toBe(other);
    expect(chains.find(2, 0xffff_ffff, 0x8000_0000)).toBe(NONE);
    expect(chains.find(0, 0xffff_ffff, 0)).toBe(NONE);
    expect(chains.find(0, 0, 0x8000_0000)).toBe(NONE);
  });

  it('give their memory back, a full table as an empty one', () => {
    const chains = new ActiveChains(60_000);
    const empty = chains.byteLength;
    const lasts = numbers(0, 20).map((rank) => hold(chains, rank, numbers(0, 3_000)));
    expect(chains.room).toBe(0);
    expect(chains.byteLength / chains.size).toBeLessThan(46);
    const gone = lasts.map((last) => end(chains, last).length);
    expect(gone).toEqual(numbers(0, 20).map(() => 3_000));
    expect(chains.room).toBe(60_000);
    // One chunk and the smallest tables stay, for the next request.
    expect(chains.byteLength - empty).toBeLessThan(135_000);
  });

  it('take hashes that all come to one bucket without looking through them', () => {
    const chains = new ActiveChains(200_000);
    // Every one of these gives the same word before it is spread.
    const lasts: number[] = [];
    for (let at = 0; at < 200_000; at += 1)
      lasts.push(chains.add(0, Math.imul(at, 0x9e37_79b1) >>> 0, at, NONE));
    expect(chains.find(0, 0, 0)).toBe(lasts[0]);
    // The ones in the middle too: a look through all for each would be 10 thousand million steps.
    for (const last of lasts) chains.letGo(last, () => undefined);
    expect(chains.size).toBe(0);
  });

  it('have nothing to let go at no place', () => {
    const chains = new ActiveChains(10);
    chains.hold(NONE);
    expect(end(chains, NONE)).toEqual([]);
  });
});
