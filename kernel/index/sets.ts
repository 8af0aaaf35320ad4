// Holder sets. Each set of two and more exists once, however many blocks have
// it: a sorted list of 2-byte holders with a count of the blocks that refer to
// it. The id of a set is its address divided by 16; a set of one is its holder
// plus one and takes no memory; 0 is the empty set.
import { CHAINS_AT, DEAD_BITS, FIRST_SHARED_ID, NO_MEMORY, SCRATCH_SET } from './layout';
import { takePages } from './pages';
import { giveBackBytes, takeBytes } from './slabs';

const REFERENCES: usize = 0;
/** The sum of what `mixHolder` makes of its members. */
const HASH: usize = 4;
const NEXT_ID: usize = 8;
export const COUNT: usize = 12;
export const MEMBERS: usize = 16;

/** Chains of sets with like hashes, found by linear hashing: one more chain for each set beyond their number. */
let chains: u32 = 0;
/** The largest power of two that is not above `chains`. */
let chainsFloor: u32 = 0;
let sets: u32 = 0;

/** The last change that was worked out: most blocks of one event have the same holders. */
let memoFrom: u32 = 0;
let memoTo: u32 = 0;

const CHAINS_PER_PAGE_BITS: u32 = 12;
const MAX_CHAINS: u32 = 1 << 24;

export function forgetMemo(): void {
  memoFrom = 0;
}

/** `from` and `holder`; NO_MEMORY when there is none. The caller that keeps it retains it. */
export function memoisedUnion(from: u32, holder: u32): u32 {
  if (from === memoFrom) return memoTo;
  const to = withHolder(from, holder);
  memoFrom = from;
  memoTo = to;
  return to;
}

/** `from` without `holder`. */
export function memoisedDifference(from: u32, holder: u32): u32 {
  if (from === memoFrom) return memoTo;
  const to = withoutHolder(from, holder);
  memoFrom = from;
  memoTo = to;
  return to;
}

/** `from` without those that were taken out. */
export function memoisedLiving(from: u32): u32 {
  if (from < FIRST_SHARED_ID) return isDead(from - 1) ? 0 : from;
  if (from === memoFrom) return memoTo;
  const to = living(from);
  memoFrom = from;
  memoTo = to;
  return to;
}

export function isDead(holder: u32): bool {
  return ((load<u8>(DEAD_BITS + (holder >> 3)) >> (holder & 7)) & 1) !== 0;
}

export function retain(id: u32): void {
  if (id < FIRST_SHARED_ID) return;
  const set: usize = id << 4;
  store<u32>(set, load<u32>(set, REFERENCES) + 1, REFERENCES);
}

export function release(id: u32): void {
  if (id < FIRST_SHARED_ID) return;
  const set: usize = id << 4;
  const references = load<u32>(set, REFERENCES) - 1;
  store<u32>(set, references, REFERENCES);
  if (references === 0) discard(id);
}

function mixHolder(holder: u32): u32 {
  let mixed = (holder + 1) * 0x9e3779b1;
  mixed = (mixed ^ (mixed >> 15)) * 0x85ebca77;
  mixed = (mixed ^ (mixed >> 13)) * 0xc2b2ae3d;
  return mixed ^ (mixed >> 16);
}

/** How many of the sorted `members` are less than `holder`. */
export function rank(members: usize, count: u32, holder: u32): u32 {
  let low: u32 = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (load<u16>(members + (middle << 1)) < holder) low = middle + 1;
    else high = middle;
  }
  return low;
}

function withHolder(from: u32, holder: u32): u32 {
  if (from === 0) return holder + 1;
  if (from < FIRST_SHARED_ID) {
    const other = from - 1;
    if (other === holder) return from;
    store<u16>(SCRATCH_SET, min(other, holder));
    store<u16>(SCRATCH_SET, max(other, holder), 2);
    return intern(2, mixHolder(other) + mixHolder(holder));
  }
  const set: usize = from << 4;
  const count = load<u32>(set, COUNT);
  const members = set + MEMBERS;
  const place = rank(members, count, holder);
  if (place < count && load<u16>(members + (place << 1)) === holder) return from;
  memory.copy(SCRATCH_SET, members, place << 1);
  store<u16>(SCRATCH_SET + (place << 1), holder);
  memory.copy(SCRATCH_SET + ((place + 1) << 1), members + (place << 1), (count - place) << 1);
  return intern(count + 1, load<u32>(set, HASH) + mixHolder(holder));
}

function withoutHolder(from: u32, holder: u32): u32 {
  if (from < FIRST_SHARED_ID) return from === holder + 1 ? 0 : from;
  const set: usize = from << 4;
  const count = load<u32>(set, COUNT);
  const members = set + MEMBERS;
  const place = rank(members, count, holder);
  if (place === count || load<u16>(members + (place << 1)) !== holder) return from;
  memory.copy(SCRATCH_SET, members, place << 1);
  memory.copy(SCRATCH_SET + (place << 1), members + ((place + 1) << 1), (count - place - 1) << 1);
  return intern(count - 1, load<u32>(set, HASH) - mixHolder(holder));
}

function living(from: u32): u32 {
  const set: usize = from << 4;
  const count = load<u32>(set, COUNT);
  const members = set + MEMBERS;
  let kept: u32 = 0;
  let hash: u32 = 0;
  for (let at: u32 = 0; at < count; at++) {
    const holder = load<u16>(members + (at << 1));
    if (isDead(holder)) continue;
    store<u16>(SCRATCH_SET + (kept << 1), holder);
    kept++;
    hash += mixHolder(holder);
  }
  if (kept === count) return from;
  return kept === 0 ? 0 : intern(kept, hash);
}

/** The one set with the members that lie in the scratch. */
function intern(count: u32, hash: u32): u32 {
  if (count === 1) return <u32>load<u16>(SCRATCH_SET) + 1;
  if (chains === 0 && !openFirstChains()) return NO_MEMORY;
  for (let id = load<u32>(chainOf(hash)); id !== 0; ) {
    const set: usize = id << 4;
    if (load<u32>(set, HASH) === hash && load<u32>(set, COUNT) === count && isScratch(set + MEMBERS, count))
      return id;
    id = load<u32>(set, NEXT_ID);
  }
  const made = takeBytes(<u32>MEMBERS + (count << 1));
  if (made === 0) return NO_MEMORY;
  sets++;
  if (sets > chains) openChain();
  const chain = chainOf(hash);
  store<u32>(made, 0, REFERENCES);
  store<u32>(made, hash, HASH);
  store<u32>(made, load<u32>(chain), NEXT_ID);
  store<u32>(made, count, COUNT);
  memory.copy(made + MEMBERS, SCRATCH_SET, count << 1);
  const id = <u32>(made >> 4);
  store<u32>(chain, id);
  return id;
}

function isScratch(members: usize, count: u32): bool {
  const bytes: usize = count << 1;
  let at: usize = 0;
  for (; at + 8 <= bytes; at += 8) {
    if (load<u64>(members + at) !== load<u64>(SCRATCH_SET + at)) return false;
  }
  for (; at < bytes; at += 2) {
    if (load<u16>(members + at) !== load<u16>(SCRATCH_SET + at)) return false;
  }
  return true;
}

/** No block has this set any more. */
function discard(id: u32): void {
  const set: usize = id << 4;
  let link = chainOf(load<u32>(set, HASH));
  while (load<u32>(link) !== id) link = <usize>(load<u32>(link) << 4) + NEXT_ID;
  store<u32>(link, load<u32>(set, NEXT_ID));
  sets--;
  if (id === memoFrom || id === memoTo) memoFrom = 0;
  giveBackBytes(set, <u32>MEMBERS + (load<u32>(set, COUNT) << 1));
}

function chainAt(index: u32): usize {
  return (
    <usize>load<u32>(CHAINS_AT + ((index >> CHAINS_PER_PAGE_BITS) << 2)) +
    ((index & ((1 << CHAINS_PER_PAGE_BITS) - 1)) << 2)
  );
}

/** The address of the head of the chain for `hash`. */
function chainOf(hash: u32): usize {
  const index = hash & ((chainsFloor << 1) - 1);
  return chainAt(index < chains ? index : hash & (chainsFloor - 1));
}

function openFirstChains(): bool {
  const page = takePages(1);
  if (page === 0) return false;
  memory.fill(page, 0, 4 << CHAINS_PER_PAGE_BITS);
  store<u32>(CHAINS_AT, page);
  chains = 1 << CHAINS_PER_PAGE_BITS;
  chainsFloor = chains;
  return true;
}

/** Splits one chain in two; when there is no memory for that the chains only get longer. */
function openChain(): void {
  if (chains === MAX_CHAINS) return;
  if ((chains & ((1 << CHAINS_PER_PAGE_BITS) - 1)) === 0) {
    const page = takePages(1);
    if (page === 0) return;
    store<u32>(CHAINS_AT + ((chains >> CHAINS_PER_PAGE_BITS) << 2), page);
  }
  let low = chainAt(chains - chainsFloor);
  let high = chainAt(chains);
  for (let id = load<u32>(low); id !== 0; ) {
    const set: usize = id << 4;
    if ((load<u32>(set, HASH) & chainsFloor) !== 0) {
      store<u32>(high, id);
      high = set + NEXT_ID;
    } else {
      store<u32>(low, id);
      low = set + NEXT_ID;
    }
    id = load<u32>(set, NEXT_ID);
  }
  store<u32>(low, 0);
  store<u32>(high, 0);
  chains++;
  if (chains === chainsFloor << 1) chainsFloor = chains;
}
