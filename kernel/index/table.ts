// One table a tier, hash -> entry, by extendible hashing: a directory that the
// top bits of the mixed hash index, of segments of one page. A full segment
// splits in two, two that are nearly empty become one, so that no change ever
// costs more than a page of work, or a longer directory.
//
// A segment has 256 buckets of one cache line: the cells of twelve entries (0:
// a free place), eight bits of the hash of each, the number of entries that
// wanted into this bucket and went further, and a word of the segment's own.
import { PAGE, PAGE_BITS, SCRATCH_PAGE, TIERS_AT } from './layout';
import { giveBackPages, takePages } from './pages';
import { giveBackEntry, hashOf, takeEntry } from './pool';

const TAGS: usize = 48;
const PASSED: usize = 60;
/** In the first bucket: entries of the segment. */
const ENTRIES: usize = 62;
/** In the second one: bits that all its hashes share. */
const DEPTH: usize = 126;

const BUCKETS: u32 = 256;
const PLACES: u32 = 12;
const ALL_PLACES: i32 = 4095;
const CAPACITY: u32 = BUCKETS * PLACES;
/** Entries from which on a segment splits. */
const FULL: u32 = 2640;
/** Entries up to which two segments become one, and those of one of them at which that is looked at. */
const MERGED: u32 = 1408;
const SPARSE: u32 = 896;
const SPARSE_MASK: u32 = 127;

/** Odd, near 2^64 divided by the golden ratio. */
const SPREAD: u64 = ((<u64>0x9e3779b9) << 32) | 0x7f4a7c15;

/** Bits of the longest directory: more segments than memory can hold. */
export const MAX_DEPTH: u32 = 22;
/** A directory of one page. */
const FIRST_DEPTH: u32 = 12;

export function directoryOf(tier: u32): usize {
  return load<u32>(TIERS_AT + (tier << 4));
}

/** By how many bits a mixed hash is shifted to give the place in the directory. */
export function shiftOf(tier: u32): u64 {
  return 64 - <u64>load<u32>(TIERS_AT + (tier << 4), 4);
}

export function entriesOf(tier: u32): u32 {
  return load<u32>(TIERS_AT + (tier << 4), 8);
}

export function addEntries(tier: u32, count: i32): void {
  store<u32>(TIERS_AT + (tier << 4), entriesOf(tier) + count, 8);
}

/** Spreads hashes that are alike: the top bits, and those from 32 on, depend on all others. */
export function mix(hash: u64): u64 {
  return (hash ^ (hash >> 32)) * SPREAD;
}

export function segmentOf(directory: usize, shift: u64, mixed: u64): usize {
  return load<u32>(directory + ((<usize>(mixed >> shift)) << 2));
}

function homeOf(mixed: u64): u32 {
  return <u32>(mixed >> 32) & (BUCKETS - 1);
}

function tagOf(mixed: u64): u32 {
  return <u32>(mixed >> 24) & 255;
}

/** The cell of `hash` in its segment; 0 when it is not there. Ends, whatever lies in memory. */
export function cellOf(segment: usize, hash: u64, mixed: u64): usize {
  const tags = i8x16.splat(<i8>tagOf(mixed));
  let bucket = homeOf(mixed);
  for (let passed: u32 = 0; passed < BUCKETS; passed++) {
    const at = segment + (bucket << 6);
    let alike = i8x16.bitmask(i8x16.eq(v128.load(at, TAGS), tags)) & ALL_PLACES;
    while (alike !== 0) {
      const cell: usize = load<u32>(at + (ctz(alike) << 2));
      if (cell !== 0 && hashOf(cell) === hash) return cell;
      alike &= alike - 1;
    }
    if (load<u16>(at, PASSED) === 0) return 0;
    bucket = (bucket + 1) & (BUCKETS - 1);
  }
  return 0;
}

/** Makes the tier's table; false when there is no memory. */
export function openTier(tier: u32): bool {
  if (directoryOf(tier) !== 0) return true;
  const directory = takePages(1);
  if (directory === 0) return false;
  const segment = takePages(1);
  if (segment === 0) {
    giveBackPages(directory, 1);
    return false;
  }
  memory.fill(segment, 0, PAGE);
  for (let at: u32 = 0; at < 1 << FIRST_DEPTH; at++) store<u32>(directory + (at << 2), segment);
  store<u32>(TIERS_AT + (tier << 4), directory);
  store<u32>(TIERS_AT + (tier << 4), FIRST_DEPTH, 4);
  return true;
}

/** Adds a hash that the table does not have: its cell, or 0 when there is no room. */
export function insert(tier: u32, hash: u64, mixed: u64, id: u32): usize {
  let segment = segmentOf(directoryOf(tier), shiftOf(tier), mixed);
  while (load<u16>(segment, ENTRIES) >= FULL) {
    if (!split(tier, mixed)) {
      if (load<u16>(segment, ENTRIES) === CAPACITY) return 0;
      break;
    }
    segment = segmentOf(directoryOf(tier), shiftOf(tier), mixed);
  }
  const cell = takeEntry(tier, hash, id);
  if (cell === 0) return 0;
  place(segment, mixed, cell);
  addEntries(tier, 1);
  return cell;
}

/** Puts an entry into a segment that has room. */
function place(segment: usize, mixed: u64, cell: usize): void {
  let at = segment + (homeOf(mixed) << 6);
  for (;;) {
    const free = freePlaces(at);
    if (free !== 0) {
      const index = ctz(free);
      store<u32>(at + (index << 2), cell);
      store<u8>(at + index, tagOf(mixed), TAGS);
      store<u16>(segment, load<u16>(segment, ENTRIES) + 1, ENTRIES);
      return;
    }
    store<u16>(at, load<u16>(at, PASSED) + 1, PASSED);
    at = segment + ((at + 64 - segment) & (PAGE - 1));
  }
}

/** One bit for each free place of the bucket. */
function freePlaces(at: usize): i32 {
  const zero = i32x4.splat(0);
  return (
    i32x4.bitmask(i32x4.eq(v128.load(at), zero)) |
    (i32x4.bitmask(i32x4.eq(v128.load(at, 16), zero)) << 4) |
    (i32x4.bitmask(i32x4.eq(v128.load(at, 32), zero)) << 8)
  );
}

/** Takes out the entry at `cell`. The segment may be merged afterwards with `mergeSparse`. */
export function erase(tier: u32, segment: usize, mixed: u64, cell: usize): void {
  const cells = i32x4.splat(<i32>cell);
  let at = segment + (homeOf(mixed) << 6);
  for (;;) {
    const here =
      i32x4.bitmask(i32x4.eq(v128.load(at), cells)) |
      (i32x4.bitmask(i32x4.eq(v128.load(at, 16), cells)) << 4) |
      (i32x4.bitmask(i32x4.eq(v128.load(at, 32), cells)) << 8);
    if (here !== 0) {
      store<u32>(at + (ctz(here) << 2), 0);
      break;
    }
    store<u16>(at, load<u16>(at, PASSED) - 1, PASSED);
    at = segment + ((at + 64 - segment) & (PAGE - 1));
  }
  store<u16>(segment, load<u16>(segment, ENTRIES) - 1, ENTRIES);
  addEntries(tier, -1);
  giveBackEntry(tier, cell);
}

/** Whether it is time to look whether a segment and its neighbour fit into one. */
export function isSparse(segment: usize): bool {
  const entries = load<u16>(segment, ENTRIES);
  return entries <= SPARSE && (entries & SPARSE_MASK) === 0;
}

/** Splits the segment of `mixed`; false when there is no memory, or hashes are so alike that it would not help. */
function split(tier: u32, mixed: u64): bool {
  const segmentBefore = segmentOf(directoryOf(tier), shiftOf(tier), mixed);
  const depth = <u32>load<u16>(segmentBefore, DEPTH);
  if (depth === load<u32>(TIERS_AT + (tier << 4), 4) && !lengthenDirectory(tier)) return false;
  const upper = takePages(1);
  if (upper === 0) return false;
  const directory = directoryOf(tier);
  const shift = shiftOf(tier);
  const lower = segmentOf(directory, shift, mixed);
  memory.copy(SCRATCH_PAGE, lower, PAGE);
  memory.fill(lower, 0, PAGE);
  memory.fill(upper, 0, PAGE);
  placeAll(SCRATCH_PAGE, lower, upper, 63 - <u64>depth);
  store<u16>(lower, depth + 1, DEPTH);
  store<u16>(upper, depth + 1, DEPTH);
  // The directory's places of the segment, of which the upper half is now another's.
  const half: u32 = 1 << (63 - <u32>shift - depth);
  const first = (<u32>(mixed >> shift) & ~(half * 2 - 1)) + half;
  for (let at = first; at < first + half; at++) store<u32>(directory + (at << 2), upper);
  return true;
}

/** Puts the entries of `from` into `lower` or `upper` by one bit of the mixed hash. */
function placeAll(from: usize, lower: usize, upper: usize, bit: u64): void {
  for (let at = from; at < from + PAGE; at += 64) {
    for (let index: u32 = 0; index < PLACES; index++) {
      const cell: usize = load<u32>(at + (index << 2));
      if (cell === 0) continue;
      const mixed = mix(hashOf(cell));
      place(((mixed >> bit) & 1) !== 0 ? upper : lower, mixed, cell);
    }
  }
}

function lengthenDirectory(tier: u32): bool {
  const at = TIERS_AT + (tier << 4);
  const depth = load<u32>(at, 4);
  if (depth === MAX_DEPTH) return false;
  const old: usize = load<u32>(at);
  const pages: u32 = 1 << (depth + 2 - PAGE_BITS);
  const made = takePages(pages * 2);
  if (made === 0) return false;
  for (let place: u32 = 0; place < 1 << depth; place++) {
    const segment = load<u32>(old + (place << 2));
    store<u32>(made + (place << 3), segment);
    store<u32>(made + (place << 3), segment, 4);
  }
  store<u32>(at, made);
  store<u32>(at, depth + 1, 4);
  giveBackPages(old, pages);
  return true;
}

/** Makes the segment of `mixed` and its neighbour one, and that one and its neighbour, as long as they fit. */
export function mergeSparse(tier: u32, mixed: u64): void {
  const directory = directoryOf(tier);
  const shift = shiftOf(tier);
  for (;;) {
    const here = segmentOf(directory, shift, mixed);
    const depth = <u32>load<u16>(here, DEPTH);
    if (depth === 0) return;
    const width: u32 = 1 << (64 - <u32>shift - depth);
    const index = <u32>(mixed >> shift) & ~(width - 1);
    const there: usize = load<u32>(directory + ((index ^ width) << 2));
    if (<u32>load<u16>(there, DEPTH) !== depth) return;
    if (<u32>load<u16>(here, ENTRIES) + <u32>load<u16>(there, ENTRIES) > MERGED) return;
    placeAll(there, here, here, 0);
    store<u16>(here, depth - 1, DEPTH);
    for (let at = index ^ width, end = at + width; at < end; at++) store<u32>(directory + (at << 2), here);
    giveBackPages(there, 1);
  }
}

/** Places in the directory of greatest length, of which `position` is one, up to the end of the segment there. */
export function endOfSegment(tier: u32, position: u32): u32 {
  const segment = segmentAt(tier, position);
  const width: u32 = 1 << (MAX_DEPTH - <u32>load<u16>(segment, DEPTH));
  return (position & ~(width - 1)) + width;
}

export function segmentAt(tier: u32, position: u32): usize {
  return segmentOf(directoryOf(tier), shiftOf(tier), (<u64>position) << (64 - <u64>MAX_DEPTH));
}

/** The cell of one place of a segment, for those who go over all of them; 0 when the place is free. */
export function cellAt(segment: usize, bucket: u32, index: u32): usize {
  return load<u32>(segment + (bucket << 6) + (index << 2));
}

export const BUCKETS_PER_SEGMENT: u32 = BUCKETS;
export const PLACES_PER_BUCKET: u32 = PLACES;
