import { describe, expect, it } from 'vitest';
import { BlockMirror, tierBit, traitsOf } from '../../../src/core/blocks/block-mirror.js';
import { mirrorPieces } from '../../../src/core/blocks/mirror-pieces.js';

function mirrorOf(...traits: readonly number[]): BlockMirror {
  const mirror = new BlockMirror(100);
  for (const [at, each] of traits.entries()) mirror.add(at, 0, 100 + at, 0, 0, each);
  return mirror;
}

function read(mirror: BlockMirror, maxEntries: number): string[] {
  const pieces = mirrorPieces(mirror, maxEntries);
  const seen: string[] = [];
  for (let piece = pieces.next(); piece !== undefined; piece = pieces.next()) {
    const { tier, tokensPerBlock, sequenceHashes } = piece;
    const hashes = [...new Uint32Array(sequenceHashes.buffer)].filter((_, at) => at % 2 === 0);
    seen.push(`${tier} ${tokensPerBlock}: ${hashes.join(' ')}`);
  }
  return seen;
}

describe('the pieces of a mirror', () => {
  it('have blocks of one tier and block size each', () => {
    const both = tierBit('device') | tierBit('host');
    const mirror = mirrorOf(
      traitsOf(16, tierBit('device'), false),
      traitsOf(1_048_576, tierBit('device'), false),
      traitsOf(16, both, false),
      traitsOf(1, tierBit('host'), false),
    );
    expect(read(mirror, 10).sort()).toEqual([
      'device 1048576: 101',
      'device 16: 100 102',
      'host 16: 102',
      'host 1: 103',
    ]);
  });

  it('leave out hidden blocks, and are of no more blocks than asked for', () => {
    const device = traitsOf(16, tierBit('device'), false);
    const mirror = mirrorOf(device, traitsOf(16, tierBit('device'), true), device, device);
    expect(read(mirror, 2)).toEqual(['device 16: 102 103', 'device 16: 100']);
    expect(read(mirrorOf(), 2)).toEqual([]);
  });
});
