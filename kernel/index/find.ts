// Looking up: writes to the area alone.
import {
  AREA,
  AREA_ACTIVE,
  AREA_ACTIVE_COUNT,
  AREA_ANSWERS,
  AREA_DEPTH,
  AREA_DEPTHS,
  AREA_HEADS,
  AREA_HOLDERS,
  AREA_INPUT,
  AREA_LAST,
  AREA_LIST,
  AREA_SINGLE_ACTIVE,
  AREA_SINGLES,
  AREA_UNION,
  DEAD_COUNT,
  FIRST_SHARED_ID,
  MAX_HOLDERS,
} from './layout';
import { ENTRY, isNext } from './pool';
import { COUNT, isDead, MEMBERS, rank } from './sets';
import { cellOf, directoryOf, entriesOf, mix, shiftOf, wordOf } from './table';

const NOTHING_YET: u32 = 0xffffffff;

/** Begins a look-up. */
export function findStart(): void {
  store<u32>(AREA, 0, AREA_ACTIVE);
  store<u32>(AREA, 0, AREA_ACTIVE_COUNT);
  store<u32>(AREA, 0, AREA_ANSWERS);
  store<u32>(AREA, 0, AREA_DEPTH);
  for (let tier: usize = 0; tier < 4; tier++) store<u32>(AREA + (tier << 2), NOTHING_YET, AREA_LAST);
}

/** Goes on with the next `count` hashes of the area; false when nobody holds more. */
export function findMore(count: u32, deepest: u32): bool {
  let tiers: u32 = 0;
  let only: u32 = 0;
  for (let tier: u32 = 0; tier <= deepest; tier++) {
    if (entriesOf(tier) === 0) continue;
    tiers++;
    only = tier;
  }
  if (tiers === 0) return false;
  const found = tiers === 1 ? findInTier(count, only) : findInTiers(count, deepest);
  store<u32>(AREA, load<u32>(AREA, AREA_DEPTH) + found, AREA_DEPTH);
  return found === count;
}

/** Ends it: the number of holders in the answer. */
export function findEnd(): u32 {
  const count = load<u32>(AREA, AREA_ACTIVE_COUNT);
  answerAll(load<u32>(AREA, AREA_ACTIVE), count, load<u32>(AREA, AREA_DEPTH));
  return load<u32>(AREA, AREA_ANSWERS);
}

/** Which of at most 32 hashes of the area, from number `first` on, the holder has in a tier: bit n is number `first + n`. */
export function heldOf(holder: u32, tier: u32, first: u32, count: u32): u32 {
  if (entriesOf(tier) === 0) return 0;
  const directory = directoryOf(tier);
  const shift = shiftOf(tier);
  let held: u32 = 0;
  let cell: usize = 0;
  let last: u32 = 0;
  let isIn = false;
  for (let at: u32 = 0; at < count; at++) {
    const hash = load<u64>(AREA + AREA_INPUT + ((first + at) << 3));
    if (isNext(cell, hash)) cell += ENTRY;
    else {
      const mixed = mix(hash);
      cell = cellOf(wordOf(directory, shift, mixed), hash, mixed);
      if (cell === 0) continue;
    }
    const id = load<u32>(cell);
    if (id !== last) {
      last = id;
      isIn = contains(id, holder);
    }
    if (isIn) held |= 1 << at;
  }
  return held;
}

function contains(id: u32, holder: u32): bool {
  if (id < FIRST_SHARED_ID) return id === holder + 1;
  const set: usize = id << 4;
  const count = countOf(set);
  const at = rank(set + MEMBERS, count, holder);
  return at < count && <u32>load<u16>(set + MEMBERS + (at << 1)) === holder;
}

/** How many of the hashes any holder still holds. */
function findInTier(count: u32, tier: u32): u32 {
  const directory = directoryOf(tier);
  const shift = shiftOf(tier);
  const input = AREA + AREA_INPUT;
  let last = load<u32>(AREA, AREA_LAST);
  let cell: usize = 0;
  let at: u32 = 0;
  for (; at < count; at++) {
    const hash = load<u64>(input + (at << 3));
    if (isNext(cell, hash)) cell += ENTRY;
    else {
      const mixed = mix(hash);
      cell = cellOf(wordOf(directory, shift, mixed), hash, mixed);
      if (cell === 0) break;
    }
    const id = load<u32>(cell);
    if (id === last) continue;
    if (!narrowToSet(id, load<u32>(AREA, AREA_DEPTH) + at)) break;
    last = id;
  }
  store<u32>(AREA, last, AREA_LAST);
  return at;
}

function findInTiers(count: u32, deepest: u32): u32 {
  let at: u32 = 0;
  for (; at < count; at++) {
    const hash = load<u64>(AREA + AREA_INPUT + (at << 3));
    const mixed = mix(hash);
    let isSame = true;
    let sets: u32 = 0;
    let only: u32 = 0;
    for (let tier: u32 = 0; tier <= deepest; tier++) {
      let id: u32 = 0;
      if (entriesOf(tier) !== 0) {
        const cell = cellOf(wordOf(directoryOf(tier), shiftOf(tier), mixed), hash, mixed);
        if (cell !== 0) id = load<u32>(cell);
      }
      const seen = AREA + AREA_LAST + (tier << 2);
      if (load<u32>(seen) !== id) {
        isSame = false;
        store<u32>(seen, id);
      }
      if (id === 0) continue;
      sets++;
      only = id;
    }
    if (sets === 0) break;
    if (isSame) continue;
    const depth = load<u32>(AREA, AREA_DEPTH) + at;
    if (!(sets === 1 ? narrowToSet(only, depth) : narrowToUnion(deepest, depth))) break;
  }
  return at;
}

function countOf(set: usize): u32 {
  return min(load<u32>(set, COUNT), MAX_HOLDERS);
}

/** Of those that held everything so far, the ones in `id` go on; false when none does. */
function narrowToSet(id: u32, depth: u32): bool {
  if (id >= FIRST_SHARED_ID) {
    const set: usize = id << 4;
    return narrow(set + MEMBERS, countOf(set), depth);
  }
  store<u16>(AREA, id - 1, AREA_SINGLES);
  return narrow(AREA + AREA_SINGLES, 1, depth);
}

/** The same for those in any of the sets of `AREA_LAST`. */
function narrowToUnion(deepest: u32, depth: u32): bool {
  for (let tier: u32 = 0; tier <= deepest; tier++) {
    const id = load<u32>(AREA + AREA_LAST + (tier << 2));
    // Where the rest of the set lies and how long it is.
    let rest = AREA + AREA_SINGLES + (tier << 1);
    let count: u32 = id === 0 ? 0 : 1;
    if (id >= FIRST_SHARED_ID) {
      rest = <usize>(id << 4) + MEMBERS;
      count = countOf(<usize>(id << 4));
    } else store<u16>(rest, id - 1);
    store<u32>(AREA + (tier << 3), rest, AREA_HEADS);
    store<u32>(AREA + (tier << 3), count, AREA_HEADS + 4);
  }
  const union = AREA + AREA_UNION;
  let found: u32 = 0;
  while (found < MAX_HOLDERS) {
    let least: u32 = NOTHING_YET;
    for (let tier: u32 = 0; tier <= deepest; tier++) {
      const head = AREA + AREA_HEADS + (tier << 3);
      if (load<u32>(head, 4) !== 0) least = min(least, <u32>load<u16>(load<u32>(head)));
    }
    if (least === NOTHING_YET) break;
    store<u16>(union + (found << 1), least);
    found++;
    for (let tier: u32 = 0; tier <= deepest; tier++) {
      const head = AREA + AREA_HEADS + (tier << 3);
      const left = load<u32>(head, 4);
      const rest = load<u32>(head);
      if (left === 0 || <u32>load<u16>(rest) !== least) continue;
      store<u32>(head, rest + 2);
      store<u32>(head, left - 1, 4);
    }
  }
  return narrow(union, found, depth);
}

/** Of those that held everything so far, the ones in a sorted list go on; the others are answered with `depth`. */
function narrow(members: usize, count: u32, depth: u32): bool {
  const active: usize = load<u32>(AREA, AREA_ACTIVE);
  if (active === 0) {
    begin(members, count);
    return count !== 0;
  }
  const list = AREA + AREA_LIST;
  const activeCount = load<u32>(AREA, AREA_ACTIVE_COUNT);
  const kept =
    count << 3 < activeCount
      ? keepFew(active, activeCount, members, count, depth)
      : keepMany(active, activeCount, members, count, depth);
  if (kept !== activeCount) {
    store<u32>(AREA, list, AREA_ACTIVE);
    store<u32>(AREA, kept, AREA_ACTIVE_COUNT);
  }
  return kept !== 0;
}

/** Those that stay are put into the list, which may be where they come from; how many they are. */
function keepMany(active: usize, activeCount: u32, members: usize, count: u32, depth: u32): u32 {
  const list = AREA + AREA_LIST;
  let kept: u32 = 0;
  let other: u32 = 0;
  const isSearched = activeCount << 3 < count;
  for (let at: u32 = 0; at < activeCount; at++) {
    const holder = <u32>load<u16>(active + (at << 1));
    if (isSearched) other += rank(members + (other << 1), count - other, holder);
    else while (other < count && <u32>load<u16>(members + (other << 1)) < holder) other++;
    if (other < count && <u32>load<u16>(members + (other << 1)) === holder) {
      store<u16>(list + (kept << 1), holder);
      kept++;
    } else answer(holder, depth);
  }
  return kept;
}

/** The same when hardly any stays: the others are answered by whole stretches. */
function keepFew(active: usize, activeCount: u32, members: usize, count: u32, depth: u32): u32 {
  const list = AREA + AREA_LIST;
  let kept: u32 = 0;
  let from: u32 = 0;
  for (let at: u32 = 0; at < count; at++) {
    const holder = <u32>load<u16>(members + (at << 1));
    const place = from + rank(active + (from << 1), activeCount - from, holder);
    answerAll(active + (from << 1), place - from, depth);
    from = place;
    if (place === activeCount || <u32>load<u16>(active + (place << 1)) !== holder) continue;
    store<u16>(list + (kept << 1), holder);
    kept++;
    from++;
  }
  answerAll(active + (from << 1), activeCount - from, depth);
  return kept;
}

/** The holders of the first block. Shared sets stay where they are; what the next block overwrites is copied. */
function begin(members: usize, count: u32): void {
  let active = members;
  if (members === AREA + AREA_UNION) {
    active = AREA + AREA_LIST;
    memory.copy(active, members, count << 1);
  } else if (members === AREA + AREA_SINGLES) {
    active = AREA + AREA_SINGLE_ACTIVE;
    store<u16>(active, load<u16>(members));
  }
  store<u32>(AREA, active, AREA_ACTIVE);
  store<u32>(AREA, count, AREA_ACTIVE_COUNT);
}

function answer(holder: u32, depth: u32): void {
  if (load<u32>(DEAD_COUNT) !== 0 && isDead(holder)) return;
  const answers = load<u32>(AREA, AREA_ANSWERS);
  if (answers >= MAX_HOLDERS) return;
  store<u32>(AREA + (answers << 2), holder, AREA_HOLDERS);
  store<u32>(AREA + (answers << 2), depth, AREA_DEPTHS);
  store<u32>(AREA, answers + 1, AREA_ANSWERS);
}

function answerAll(members: usize, count: u32, depth: u32): void {
  if (load<u32>(DEAD_COUNT) !== 0) {
    for (let at: u32 = 0; at < count; at++) answer(load<u16>(members + (at << 1)), depth);
    return;
  }
  const answers = load<u32>(AREA, AREA_ANSWERS);
  const room = min(count, MAX_HOLDERS - answers);
  let holders = AREA + AREA_HOLDERS + (answers << 2);
  let depths = AREA + AREA_DEPTHS + (answers << 2);
  let at: u32 = 0;
  const depthFour = i32x4.splat(depth);
  for (; at + 4 <= room; at += 4) {
    v128.store(holders, v128.load_ext<u16>(members + (at << 1)));
    v128.store(depths, depthFour);
    holders += 16;
    depths += 16;
  }
  for (; at < room; at++) {
    store<u32>(holders, <u32>load<u16>(members + (at << 1)));
    store<u32>(depths, depth);
    holders += 4;
    depths += 4;
  }
  store<u32>(AREA, answers + room, AREA_ANSWERS);
}
