// Going over a table for debugging, a piece at a time.
import { AREA, AREA_DEPTHS, AREA_HOLDERS, AREA_LIST } from './layout';
import { hashOf } from './pool';
import {
  BUCKETS_PER_SEGMENT,
  cellAt,
  directoryOf,
  endOfSegment,
  MAX_DEPTH,
  PLACES_PER_BUCKET,
  wordAt,
} from './table';

let scanned: u32 = 0;

/** Entries that the last `scan` put into the area. */
export function scannedEntries(): u32 {
  return scanned;
}

/**
 * Puts hashes (low and high halves) and set ids where an answer lies, from
 * `cursor` on, which is a place of the longest directory and a bucket. Returns
 * the next cursor; all ones at the end.
 */
export function scan(tier: u32, cursor: u32, most: u32): u32 {
  scanned = 0;
  if (directoryOf(tier) === 0) return 0xffffffff;
  let position = cursor >> 8;
  let bucket = cursor & (BUCKETS_PER_SEGMENT - 1);
  while (position < 1 << MAX_DEPTH) {
    const word = wordAt(tier, position);
    for (; bucket < BUCKETS_PER_SEGMENT; bucket++) {
      if (scanned !== 0 && scanned + PLACES_PER_BUCKET > most) return (position << 8) | bucket;
      for (let index: u32 = 0; index < PLACES_PER_BUCKET; index++) {
        const cell = cellAt(word, bucket, index);
        if (cell === 0) continue;
        const hash = hashOf(cell);
        const at = AREA + (scanned << 2);
        store<u32>(at, <u32>hash, AREA_HOLDERS);
        store<u32>(at, <u32>(hash >> 32), AREA_DEPTHS);
        store<u32>(at, load<u32>(cell), AREA_LIST);
        scanned++;
      }
    }
    bucket = 0;
    position = endOfSegment(tier, position);
  }
  return 0xffffffff;
}
