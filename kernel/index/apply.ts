// Changing the index.
import {
  AREA,
  AREA_INPUT,
  AREA_SINK,
  COUNTS_AT,
  DEAD_BITS,
  DEAD_COUNT,
  FIRST_SHARED_ID,
  NO_MEMORY,
} from './layout';
import { ENTRY, hashOf, isNext } from './pool';
import {
  COUNT,
  forgetMemo,
  isDead,
  MEMBERS,
  memoisedDifference,
  memoisedLiving,
  memoisedUnion,
  release,
  retain,
} from './sets';
import {
  BUCKETS_PER_SEGMENT,
  cellAt,
  cellOf,
  directoryOf,
  endOfSegment,
  entriesOf,
  erase,
  firstOfBucket,
  insert,
  isSparse,
  MAX_DEPTH,
  mergeSparse,
  mix,
  openTier,
  PLACES_PER_BUCKET,
  shiftOf,
  wordAt,
  wordOf,
} from './table';

/** Whether the last change found no memory. */
let isOutOfMemory: bool = false;

/** Pairs of holders that were taken out. */
let deadPairs: u64 = 0;
let sweepTier: u32 = 0;
let sweepPosition: u32 = 0;

export function outOfMemory(): bool {
  return isOutOfMemory;
}

function countAt(holder: u32, tier: u32): usize {
  return COUNTS_AT + (holder << 4) + (tier << 2);
}

export function blocksOf(holder: u32, tier: u32): u32 {
  return load<u32>(countAt(holder, tier));
}

/** Buckets that are fetched from memory together. */
const AHEAD: u32 = 16;

/** Reads the buckets of some hashes, so that they come from memory all at the same time. */
function lookAhead(tier: u32, from: u32, to: u32): void {
  const directory = directoryOf(tier);
  const shift = shiftOf(tier);
  let read: u32 = 0;
  for (let at = from; at < to; at++) {
    const mixed = mix(load<u64>(AREA + AREA_INPUT + (at << 3)));
    read ^= firstOfBucket(wordOf(directory, shift, mixed), mixed);
  }
  // Kept, so that the compiler leaves the reading in.
  store<u32>(AREA, read, AREA_SINK);
}

/** The holder has the first `count` hashes of the area: how many of them are new. */
export function storeAll(holder: u32, tier: u32, count: u32): u32 {
  isOutOfMemory = !openTier(tier);
  forgetMemo();
  let added: u32 = 0;
  let cell: usize = 0;
  for (let at: u32 = 0; at < count && !isOutOfMemory; at++) {
    if ((at & (AHEAD - 1)) === 0) lookAhead(tier, at, min(count, at + AHEAD));
    const hash = load<u64>(AREA + AREA_INPUT + (at << 3));
    if (isNext(cell, hash)) cell += ENTRY;
    else {
      const mixed = mix(hash);
      cell = cellOf(wordOf(directoryOf(tier), shiftOf(tier), mixed), hash, mixed);
      if (cell === 0) {
        cell = insert(tier, hash, mixed, holder + 1);
        if (cell !== 0) added++;
        else isOutOfMemory = true;
        continue;
      }
    }
    const from = load<u32>(cell);
    const to = memoisedUnion(from, holder);
    if (to === from) continue;
    if (to === NO_MEMORY) {
      isOutOfMemory = true;
      continue;
    }
    store<u32>(cell, to);
    retain(to);
    release(from);
    added++;
  }
  store<u32>(countAt(holder, tier), blocksOf(holder, tier) + added);
  return added;
}

/** The holder has no longer the first `count` hashes of the area: how many of them it had. */
export function removeAll(holder: u32, tier: u32, count: u32): u32 {
  isOutOfMemory = false;
  if (entriesOf(tier) === 0) return 0;
  forgetMemo();
  let gone: u32 = 0;
  for (let at: u32 = 0; at < count; at++) {
    if ((at & (AHEAD - 1)) === 0) lookAhead(tier, at, min(count, at + AHEAD));
    const hash = load<u64>(AREA + AREA_INPUT + (at << 3));
    const mixed = mix(hash);
    const word = wordOf(directoryOf(tier), shiftOf(tier), mixed);
    const cell = cellOf(word, hash, mixed);
    if (cell === 0) continue;
    const from = load<u32>(cell);
    const to = memoisedDifference(from, holder);
    if (to === from) continue;
    if (to === NO_MEMORY) {
      isOutOfMemory = true;
      break;
    }
    gone++;
    if (to === 0) {
      erase(tier, word, mixed, cell);
      if (isSparse(word)) mergeSparse(tier, mixed);
    } else {
      store<u32>(cell, to);
      retain(to);
    }
    release(from);
  }
  store<u32>(countAt(holder, tier), blocksOf(holder, tier) - gone);
  return gone;
}

function bitOf(holder: u32): u8 {
  return (<u8>1) << (<u8>(holder & 7));
}

/** No answer names the holder from now on. */
export function dropHolder(holder: u32): void {
  const byte = DEAD_BITS + (holder >> 3);
  store<u8>(byte, load<u8>(byte) | bitOf(holder));
  store<u32>(DEAD_COUNT, load<u32>(DEAD_COUNT) + 1);
  for (let tier: u32 = 0; tier < 4; tier++) deadPairs += blocksOf(holder, tier);
}

/** A holder without entries may be named again, for another. */
export function reuseHolder(holder: u32): void {
  const byte = DEAD_BITS + (holder >> 3);
  store<u8>(byte, load<u8>(byte) & ~bitOf(holder));
  store<u32>(DEAD_COUNT, load<u32>(DEAD_COUNT) - 1);
}

/** Drops entries of holders that were taken out, in one segment; how many pairs are gone. */
export function sweepSegment(): u32 {
  if (deadPairs === 0) return 0;
  isOutOfMemory = false;
  while (entriesOf(sweepTier) === 0) {
    sweepTier = (sweepTier + 1) & 3;
    sweepPosition = 0;
  }
  const tier = sweepTier;
  const position = sweepPosition;
  const end = endOfSegment(tier, position);
  const word = wordAt(tier, position);
  forgetMemo();
  let gone: u32 = 0;
  for (let bucket: u32 = 0; bucket < BUCKETS_PER_SEGMENT; bucket++) {
    for (let index: u32 = 0; index < PLACES_PER_BUCKET; index++) {
      const cell = cellAt(word, bucket, index);
      if (cell === 0) continue;
      const from = load<u32>(cell);
      const to = memoisedLiving(from);
      if (to === from) continue;
      if (to === NO_MEMORY) {
        isOutOfMemory = true;
        continue;
      }
      gone += uncountDead(from, tier);
      if (to === 0) erase(tier, word, mix(hashOf(cell)), cell);
      else {
        store<u32>(cell, to);
        retain(to);
      }
      release(from);
    }
  }
  mergeSparse(tier, (<u64>position) << (64 - <u64>MAX_DEPTH));
  deadPairs -= gone;
  sweepPosition = end;
  if (end >= 1 << MAX_DEPTH) {
    sweepTier = (tier + 1) & 3;
    sweepPosition = 0;
  }
  return gone;
}

export function isSwept(): bool {
  return deadPairs === 0;
}

/** Takes one block of `id` off the counts of those that were taken out; how many they are. */
function uncountDead(id: u32, tier: u32): u32 {
  if (id < FIRST_SHARED_ID) {
    uncount(id - 1, tier);
    return 1;
  }
  const set: usize = id << 4;
  let gone: u32 = 0;
  for (let at: u32 = 0, count = load<u32>(set, COUNT); at < count; at++) {
    const holder = <u32>load<u16>(set + MEMBERS + (at << 1));
    if (!isDead(holder)) continue;
    uncount(holder, tier);
    gone++;
  }
  return gone;
}

function uncount(holder: u32, tier: u32): void {
  store<u32>(countAt(holder, tier), blocksOf(holder, tier) - 1);
}
