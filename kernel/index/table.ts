// One table a tier, hash -> entry, by extendible hashing: a directory that the
// top bits of the mixed hash index, of segments of one page. A full segment
// splits in two, two that are nearly empty become one, so that no change ever
// costs more than a page of work, or a longer directory.
//
// A segment has 256 buckets of one cache line: the cells of ten entries (0: a
// free place; odd: it belongs into a bucket before), sixteen bits of the mixed
// hash of each, the number of entries that wanted into this bucket and went
// further, and a word of the segment's own. The sixteen bits begin at or up to
// seven bits before the first one that the directory has not seen: so they
// tell what a split needs to know, and entries need not be read for it but
// once in eight. The directory's low bits say where they begin.
import { PAGE, PAGE_BITS, SCRATCH_PAGE, TIERS_AT } from './layout';
import { giveBackPages, takePages } from './pages';
import { giveBackEntry, hashOf, takeEntry } from './pool';

const TAGS: usize = 40;
const PASSED: usize = 60;
/** In the first bucket: entries of the segment. */
const ENTRIES: usize = 62;
/** In the second one: bits that all its hashes share. */
const DEPTH: usize = 126;

const BUCKETS: u32 = 256;
const PLACES: u32 = 10;
const CAPACITY: u32 = BUCKETS * PLACES;
/** Entries from which on a segment splits. */
const FULL: u32 = 2200;
/** Entries up to which two segments become one, and those of one of them at which that is looked at. */
const MERGED: u32 = 1152;
const SPARSE: u32 = 768;
const SPARSE_MASK: u32 = 127;
/** Splits between which the sixteen bits stay the same; a power of two. */
const LEVELS: u32 = 8;
/** Set in the cell of an entry that was full of others where it belongs. */
const DISPLACED: u32 = 1;

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

/** Spreads hashes that are alike: the top bits depend on all others, and each on all below it. */
export function mix(hash: u64): u64 {
  return (hash ^ (hash >> 32)) * SPREAD;
}

/** The directory's word for a mixed hash: the address of its segment, and in the low bits where the tags begin. */
export function wordOf(directory: usize, shift: u64, mixed: u64): u32 {
  return load<u32>(directory + ((<usize>(mixed >> shift)) << 2));
}

function segmentOf(word: u32): usize {
  return word & ~(PAGE - 1);
}

function homeOf(mixed: u64): u32 {
  return <u32>(mixed >> 24) & (BUCKETS - 1);
}

function tagOf(word: u32, mixed: u64): u32 {
  return <u32>((mixed << (<u64>(word & 63))) >> 48);
}

/** Something of the bucket of a hash. */
export function firstOfBucket(word: u32, mixed: u64): u32 {
  return load<u32>(segmentOf(word) + (homeOf(mixed) << 6));
}

/** The cell of `hash` in its segment; 0 when it is not there. Ends, whatever lies in memory. */
export function cellOf(word: u32, hash: u64, mixed: u64): usize {
  const tags = i16x8.splat(<i16>tagOf(word, mixed));
  const segment = segmentOf(word);
  let bucket = homeOf(mixed);
  for (let passed: u32 = 0; passed < BUCKETS; passed++) {
    const at = segment + (bucket << 6);
    let alike =
      i16x8.bitmask(i16x8.eq(v128.load(at, TAGS), tags)) |
      (i16x8.bitmask(i16x8.eq(v128.load(at, TAGS + 4), tags)) << 2);
    while (alike !== 0) {
      const cell: usize = load<u32>(at + (ctz(alike) << 2)) & ~DISPLACED;
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
  let word = wordOf(directoryOf(tier), shiftOf(tier), mixed);
  while (load<u16>(segmentOf(word), ENTRIES) >= FULL) {
    if (!split(tier, mixed)) {
      if (load<u16>(segmentOf(word), ENTRIES) === CAPACITY) return 0;
      break;
    }
    word = wordOf(directoryOf(tier), shiftOf(tier), mixed);
  }
  const cell = takeEntry(tier, hash, id);
  if (cell === 0) return 0;
  place(segmentOf(word), homeOf(mixed), tagOf(word, mixed), cell);
  addEntries(tier, 1);
  return cell;
}

/** Puts an entry into a segment that has room. */
function place(segment: usize, home: u32, tag: u32, cell: usize): void {
  let at = segment + (home << 6);
  let displaced: u32 = 0;
  for (;;) {
    const free = placesOf(at, 0);
    if (free !== 0) {
      const index = ctz(free);
      store<u32>(at + (index << 2), cell | displaced);
      store<u16>(at + (index << 1), tag, TAGS);
      store<u16>(segment, load<u16>(segment, ENTRIES) + 1, ENTRIES);
      return;
    }
    store<u16>(at, load<u16>(at, PASSED) + 1, PASSED);
    at = segment + ((at + 64 - segment) & (PAGE - 1));
    displaced = DISPLACED;
  }
}

/** One bit for each place of the bucket in which `cell` is. */
function placesOf(at: usize, cell: usize): i32 {
  const cells = i32x4.splat(<i32>cell);
  const displaced = i32x4.splat(DISPLACED);
  return (
    i32x4.bitmask(i32x4.eq(v128.andnot(v128.load(at), displaced), cells)) |
    (i32x4.bitmask(i32x4.eq(v128.andnot(v128.load(at, 16), displaced), cells)) << 4) |
    (i32x4.bitmask(i32x4.eq(v128.andnot(v128.load(at, 24), displaced), cells)) << 6)
  );
}

/** Takes out the entry at `cell`. The segment may be merged afterwards with `mergeSparse`. */
export function erase(tier: u32, word: u32, mixed: u64, cell: usize): void {
  const segment = segmentOf(word);
  let at = segment + (homeOf(mixed) << 6);
  for (;;) {
    const here = placesOf(at, cell);
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
export function isSparse(word: u32): bool {
  const entries = load<u16>(segmentOf(word), ENTRIES);
  return entries <= SPARSE && (entries & SPARSE_MASK) === 0;
}

/** Splits the segment of `mixed`; false when there is no memory, or hashes are so alike that it would not help. */
function split(tier: u32, mixed: u64): bool {
  const lower = segmentOf(wordOf(directoryOf(tier), shiftOf(tier), mixed));
  const depth = <u32>load<u16>(lower, DEPTH);
  if (depth === load<u32>(TIERS_AT + (tier << 4), 4) && !lengthenDirectory(tier)) return false;
  const upper = takePages(1);
  if (upper === 0) return false;
  memory.copy(SCRATCH_PAGE, lower, PAGE);
  memory.fill(lower, 0, PAGE);
  memory.fill(upper, 0, PAGE);
  const tags = firstTagBit(depth + 1);
  moveAll(SCRATCH_PAGE, depth, <u32>lower | tags, <u32>upper | tags, tags !== firstTagBit(depth));
  store<u16>(lower, depth + 1, DEPTH);
  store<u16>(upper, depth + 1, DEPTH);
  const directory = directoryOf(tier);
  const shift = <u32>shiftOf(tier);
  const half: u32 = 1 << (63 - shift - depth);
  const first = <u32>(mixed >> shift) & ~(half * 2 - 1);
  point(directory, first, half, <u32>lower | tags);
  point(directory, first + half, half, <u32>upper | tags);
  return true;
}

/** Where the tags of a segment begin of which all hashes share `depth` bits. */
function firstTagBit(depth: u32): u32 {
  return depth & ~(LEVELS - 1);
}

function point(directory: usize, first: u32, count: u32, word: u32): void {
  for (let at = first; at < first + count; at++) store<u32>(directory + (at << 2), word);
}

/** Puts the entries of `from` into `lower` or `upper` by bit `level` of the mixed hash, of which the first is the top one. */
function moveAll(from: usize, level: u32, lower: u32, upper: u32, isRetagged: bool): void {
  const tagBit = 15 - (level & (LEVELS - 1));
  for (let bucket: u32 = 0; bucket < BUCKETS; bucket++) {
    const at = from + (bucket << 6);
    for (let index: u32 = 0; index < PLACES; index++) {
      const cell = load<u32>(at + (index << 2));
      if (cell === 0) continue;
      if (!isRetagged && (cell & DISPLACED) === 0) {
        const tag = <u32>load<u16>(at + (index << 1), TAGS);
        place(segmentOf(((tag >> tagBit) & 1) !== 0 ? upper : lower), bucket, tag, cell);
        continue;
      }
      const entry = cell & ~DISPLACED;
      const mixed = mix(hashOf(entry));
      const word = ((mixed >> (63 - <u64>level)) & 1) !== 0 ? upper : lower;
      place(segmentOf(word), homeOf(mixed), tagOf(word, mixed), entry);
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
    const here = segmentOf(wordOf(directory, shift, mixed));
    const depth = <u32>load<u16>(here, DEPTH);
    if (depth === 0) return;
    const width: u32 = 1 << (64 - <u32>shift - depth);
    const index = <u32>(mixed >> shift) & ~(width - 1);
    const there = segmentOf(load<u32>(directory + ((index ^ width) << 2)));
    if (<u32>load<u16>(there, DEPTH) !== depth) return;
    if (<u32>load<u16>(here, ENTRIES) + <u32>load<u16>(there, ENTRIES) > MERGED) return;
    const tags = firstTagBit(depth - 1);
    const word = <u32>here | tags;
    const isRetagged = tags !== firstTagBit(depth);
    if (isRetagged) {
      memory.copy(SCRATCH_PAGE, here, PAGE);
      memory.fill(here, 0, PAGE);
      moveAll(SCRATCH_PAGE, depth, word, word, true);
    }
    moveAll(there, depth, word, word, isRetagged);
    store<u16>(here, depth - 1, DEPTH);
    point(directory, index & ~width, width * 2, word);
    giveBackPages(there, 1);
  }
}

/** Places in the directory of greatest length, of which `position` is one, up to the end of the segment there. */
export function endOfSegment(tier: u32, position: u32): u32 {
  const segment = segmentOf(wordAt(tier, position));
  const width: u32 = 1 << (MAX_DEPTH - <u32>load<u16>(segment, DEPTH));
  return (position & ~(width - 1)) + width;
}

export function wordAt(tier: u32, position: u32): u32 {
  return wordOf(directoryOf(tier), shiftOf(tier), (<u64>position) << (64 - <u64>MAX_DEPTH));
}

/** The cell of one place of a segment, for those who go over all of them; 0 when the place is free. */
export function cellAt(word: u32, bucket: u32, index: u32): usize {
  return load<u32>(segmentOf(word) + (bucket << 6) + (index << 2)) & ~DISPLACED;
}

export const BUCKETS_PER_SEGMENT: u32 = BUCKETS;
export const PLACES_PER_BUCKET: u32 = PLACES;
