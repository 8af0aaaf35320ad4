import type { BlockMirror } from './block-mirror.js';
import { TIERS, type Tier } from './tier.js';

/** Blocks of one tier and width. */
export interface MirrorPiece {
  readonly tier: Tier;
  readonly tokensPerBlock: number;
  /** Packed little-endian u64. */
  readonly sequenceHashes: Uint8Array;
}

/** What is read of the blocks of a mirror. */
type ReadMirror = Pick<
  BlockMirror,
  'size' | 'hidden' | 'tokensPerBlock' | 'tiers' | 'sequenceLo' | 'sequenceHi'
>;

/**
 * All that a mirror holds and that is not hidden, at most `maxEntries` blocks a step, while
 * blocks may come and go between steps. It runs from the end to the start,
 * and a removal moves only the last block, so one that stays is never missed;
 * it may be reported twice.
 */
export function mirrorPieces(mirror: ReadMirror, maxEntries: number): { next(): MirrorPiece | undefined } {
  const step = Math.max(1, maxEntries);
  const ready: MirrorPiece[] = [];
  let end = mirror.size;
  return {
    next: (): MirrorPiece | undefined => {
      while (ready.length === 0) {
        end = Math.min(end, mirror.size);
        if (end === 0) return undefined;
        const start = Math.max(0, end - step);
        ready.push(...piecesOf(mirror, start, end));
        end = start;
      }
      return ready.shift();
    },
  };
}

function piecesOf(mirror: ReadMirror, start: number, end: number): MirrorPiece[] {
  const counts = new Map<number, number>();
  eachHeld(mirror, start, end, (key) => counts.set(key, (counts.get(key) ?? 0) + 1));
  const views = new Map<number, DataView>();
  for (const [key, count] of counts) views.set(key, new DataView(new ArrayBuffer(8 * count)));
  const written = new Map<number, number>();
  eachHeld(mirror, start, end, (key, at) => {
    const offset = written.get(key) ?? 0;
    views.get(key)?.setUint32(offset, mirror.sequenceLo(at), true);
    views.get(key)?.setUint32(offset + 4, mirror.sequenceHi(at), true);
    written.set(key, offset + 8);
  });
  return [...views].map(([key, view]) => ({
    tier: TIERS[key % TIERS.length] ?? 'device',
    tokensPerBlock: Math.floor(key / TIERS.length),
    sequenceHashes: new Uint8Array(view.buffer),
  }));
}

/** Calls back for each tier of each block that is not hidden, with a key of tier and width. */
function eachHeld(
  mirror: ReadMirror,
  start: number,
  end: number,
  visit: (key: number, at: number) => void,
): void {
  for (let at = start; at < end; at++) {
    if (mirror.hidden(at)) continue;
    const width = mirror.tokensPerBlock(at) * TIERS.length;
    const tiers = mirror.tiers(at);
    for (let tier = 0; tier < TIERS.length; tier++) {
      if ((tiers & (1 << tier)) !== 0) visit(width + tier, at);
    }
  }
}
