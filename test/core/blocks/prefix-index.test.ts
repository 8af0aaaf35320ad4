import { describe, expect, it } from 'vitest';
import { type Matches, PrefixIndex, PrefixIndexError } from '../../../src/core/blocks/prefix-index.js';
import { packedFrom } from '../../support/packed-hashes.js';

const MEBIBYTE = 2 ** 20;

/** Well spread hashes, different for each `stream` and place. */
function spread(stream: number, count: number): Uint8Array {
  const words = new Uint32Array(2 * count);
  for (let word = 0; word < words.length; word += 1) {
    let mixed = Math.imul(stream + 1, 0x9e37_79b1) ^ Math.imul(word + 1, 0x85eb_ca77);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0xc2b2_ae3d);
    words[word] = mixed ^ (mixed >>> 13) ^ (word % 2 === 0 ? stream : word);
  }
  return new Uint8Array(words.buffer);
}

function answer({ count, holders, depths }: Matches): Record<number, number> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [holders[at], depths[at]]));
}

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('a prefix index', () => {
  it('reports for each holder how many leading blocks it has, whatever it has behind a gap', () => {
    const index = new PrefixIndex();
    const [whole, half, gap] = [index.addHolder(), index.addHolder(), index.addHolder()];
    const hashes = packedFrom([1n, 2n, 3n, 4n]);
    index.store(whole, 'device', hashes);
    index.store(half, 'device', hashes.subarray(0, 16));
    index.store(gap, 'device', hashes.subarray(0, 8));
    index.store(gap, 'device', hashes.subarray(16));
    expect(answer(index.find(hashes, 'device'))).toEqual({ [whole]: 4, [half]: 2, [gap]: 1 });
    expect(answer(index.find(packedFrom([2n, 3n]), 'device'))).toEqual({ [whole]: 2, [half]: 1 });
    expect(index.find(packedFrom([5n, 1n]), 'device').count).toBe(0);
    expect(index.find(new Uint8Array(0), 'device').count).toBe(0);
  });

  it('counts a block in any tier up to the deepest that is asked for', () => {
    const index = new PrefixIndex();
    const [holder, other] = [index.addHolder(), index.addHolder()];
    index.store(holder, 'device', packedFrom([1n, 3n]));
    index.store(holder, 'host', packedFrom([2n]));
    index.store(other, 'external', packedFrom([1n, 2n]));
    const asked = packedFrom([1n, 2n, 3n]);
    expect(answer(index.find(asked, 'device'))).toEqual({ [holder]: 1 });
    expect(answer(index.find(asked, 'disk'))).toEqual({ [holder]: 3 });
    expect(answer(index.find(asked, 'external'))).toEqual({ [holder]: 3, [other]: 2 });
  });

  it('reads hashes at any alignment, and refuses what is no whole number of them', () => {
    const index = new PrefixIndex();
    const holder = index.addHolder();
    const odd = new Uint8Array(17);
    odd.set(packedFrom([7n, 8n]), 1);
    expect(index.store(holder, 'device', odd.subarray(1))).toBe(2);
    expect(answer(index.find(packedFrom([7n, 8n]), 'device'))).toEqual({ [holder]: 2 });
    expect(() => index.find(odd, 'device')).toThrow(RangeError);
    expect(() => index.store(holder, 'device', odd)).toThrow(RangeError);
  });

  it('takes more hashes in one call than fit into its room for them', () => {
    const index = new PrefixIndex();
    const [holder, other, third] = [index.addHolder(), index.addHolder(), index.addHolder()];
    const hashes = spread(1, 10_000);
    expect(index.store(holder, 'device', hashes)).toBe(10_000);
    expect(index.store(other, 'device', hashes.subarray(0, 8 * 9_000))).toBe(9_000);
    expect(index.store(third, 'device', hashes.subarray(0, 8 * 100))).toBe(100);
    expect(answer(index.find(hashes, 'external'))).toEqual({
      [holder]: 10_000,
      [other]: 9_000,
      [third]: 100,
    });
    expect(index.remove(holder, 'device', hashes)).toBe(10_000);
    expect(index.blocksOf(holder, 'device')).toBe(0);
    expect(answer(index.find(hashes, 'device'))).toEqual({ [other]: 9_000, [third]: 100 });
  });

  it('keeps apart thousands of holders of the same blocks', () => {
    const index = new PrefixIndex();
    const slots = Array.from({ length: 20_000 }, () => index.addHolder());
    const hashes = packedFrom([1n, 2n, 3n]);
    for (const slot of slots) index.store(slot, 'device', hashes.subarray(0, 8 * (1 + (slot % 3))));
    const { count, holders, depths } = index.find(hashes, 'device');
    expect(count).toBe(20_000);
    for (let at = 0; at < count; at += 1)
      if (depths[at] !== 1 + ((holders[at] as number) % 3))
        expect.fail(`holder ${holders[at]}: ${depths[at]}`);
    for (const slot of slots) if (slot % 2 === 0) index.remove(slot, 'device', hashes);
    expect(index.find(hashes, 'device').count).toBe(10_000);
    expect(index.pairs).toBe(
      slots.filter((slot) => slot % 2 === 1).reduce((sum, slot) => sum + 1 + (slot % 3), 0),
    );
  });

  it('takes memory as it fills, gives it back to itself, and takes none for tiers that nobody uses', () => {
    const index = new PrefixIndex();
    const empty = index.memoryBytes;
    const fill = (): number[] =>
      Array.from({ length: 20 }, (_, stream) => {
        const holder = index.addHolder();
        index.store(holder, 'device', spread(stream, 20_000));
        index.store(holder, 'device', spread(1_000 + (stream >> 2), 1_000));
        return holder;
      });
    let holders = fill();
    expect(index.pairs).toBe(20 * 21_000);
    expect(index.blocks).toBe(20 * 20_000 + 5 * 1_000);
    const filled = index.memoryBytes;
    expect(filled).toBeGreaterThan(empty + 4 * MEBIBYTE);
    expect(filled).toBeLessThan(empty + 14 * MEBIBYTE);
    for (let round = 0; round < 3; round += 1) {
      for (const holder of holders) index.dropHolder(holder);
      while (!index.sweep(8));
      expect(index.pairs).toBe(0);
      expect(index.blocks).toBe(0);
      holders = fill();
      expect(index.memoryBytes).toBe(filled);
    }
    for (const [stream, holder] of holders.entries()) {
      index.remove(holder, 'device', spread(stream, 20_000));
      index.remove(holder, 'device', spread(1_000 + (stream >> 2), 1_000));
    }
    expect(index.blocks).toBe(0);
    const other = index.addHolder();
    for (let stream = 0; stream < 20; stream += 1) index.store(other, 'disk', spread(5_000 + stream, 20_000));
    expect(index.memoryBytes).toBeLessThanOrEqual(filled + MEBIBYTE);
  });

  it('has a new holder in the slot of one that was taken out only when nothing is left of that one', () => {
    const index = new PrefixIndex();
    const [gone, stays] = [index.addHolder(), index.addHolder()];
    const hashes = spread(3, 5_000);
    index.store(gone, 'device', hashes);
    index.store(stays, 'device', hashes.subarray(0, 8));
    index.dropHolder(gone);
    expect(answer(index.find(hashes, 'device'))).toEqual({ [stays]: 1 });
    expect(index.addHolder()).not.toBe(gone);
    expect(() => index.store(gone, 'device', hashes)).toThrow(RangeError);
    expect(index.sweep(1)).toBe(false);
    expect(index.sweep(1_000)).toBe(true);
    expect(index.pairs).toBe(1);
    expect(index.addHolder()).toBe(gone);
    expect(answer(index.find(hashes, 'device'))).toEqual({ [stays]: 1 });
  });

  it('says so when it is full, keeps what it has, and goes on when there is room again', () => {
    const index = new PrefixIndex({ maxBytes: 4 * MEBIBYTE });
    const [first, second] = [index.addHolder(), index.addHolder()];
    const hashes = spread(4, 400_000);
    expect(thrownBy(() => index.store(first, 'device', hashes))).toMatchObject({ code: 'no_memory' });
    const stored = index.blocksOf(first, 'device');
    expect(stored).toBeGreaterThan(50_000);
    expect(index.pairs).toBe(stored);
    expect(index.memoryBytes).toBeLessThanOrEqual(4 * MEBIBYTE);
    expect(answer(index.find(hashes, 'device'))).toEqual({ [first]: stored });
    index.dropHolder(first);
    while (!index.sweep(1));
    expect(index.store(second, 'device', hashes.subarray(0, 8 * 50_000))).toBe(50_000);
    expect(answer(index.find(hashes, 'device'))).toEqual({ [second]: 50_000 });
  });

  it('refuses memory in which it does not fit, and holders beyond 65,535', () => {
    expect(thrownBy(() => new PrefixIndex({ maxBytes: 1_000 }))).toBeInstanceOf(PrefixIndexError);
    const index = new PrefixIndex();
    expect(Array.from({ length: 65_535 }, () => index.addHolder()).at(-1)).toBe(65_534);
    expect(thrownBy(() => index.addHolder())).toMatchObject({ code: 'too_many_holders' });
    index.store(65_534, 'device', packedFrom([1n]));
    index.store(0, 'device', packedFrom([1n]));
    expect(answer(index.find(packedFrom([1n]), 'device'))).toEqual({ 0: 1, 65534: 1 });
  });
});
