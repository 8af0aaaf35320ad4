// Entries: a hash and a holder set, 12 bytes, side by side in the order in
// which they came, each tier in pages of its own. Blocks of one sequence mostly
// come together, so that a look-up mostly finds the next block right behind
// the last one. The address of an entry is that of its set id, the "cell"; an
// id of 0 is a free entry, whatever hash stands before it.
import { PAGE, POOLS_AT } from './layout';
import { giveBackPages, takePages } from './pages';

/** Bytes of an entry. */
export const ENTRY: usize = 12;
/** Where its hash is from its cell. */
const HASH_BACK: usize = 8;

// The head of a page of entries.
const USED: usize = 0;
const PREVIOUS: usize = 4;
const NEXT: usize = 8;
/** Whether it is in the list of pages that may be filled up again. */
const LISTED: usize = 12;
/** The word of the bitmap at which to look for a free entry. */
const CURSOR: usize = 16;
/** One bit an entry: it is free. */
const BITMAP: usize = 20;
const BITMAP_WORDS: u32 = 43;
const FIRST_ENTRY: usize = 192;
/** With them a page has room for one more, which stays free: nothing follows the last one. */
const ENTRIES: u32 = 1348;
/** Free entries from which on a page is filled up again: holes are at most a quarter of the memory, and not scattered. */
const WORTH_FILLING: u32 = ENTRIES / 4;

export function hashOf(cell: usize): u64 {
  return load<u64>(cell - HASH_BACK);
}

/** Whether the entry behind the one at `cell` is that of `hash`; a `cell` of 0 has none behind it. */
export function isNext(cell: usize, hash: u64): bool {
  return load<u64>(cell + (ENTRY - HASH_BACK)) === hash && load<u32>(cell + ENTRY) !== 0;
}

/** The cell of a new entry, after that of the last one where that is possible; 0 when there is no memory. */
export function takeEntry(tier: u32, hash: u64, id: u32): usize {
  const pool = POOLS_AT + (tier << 3);
  const page: usize = load<u32>(pool);
  let cell: usize = page === 0 ? 0 : freeCellOf(page);
  if (cell === 0) {
    const next = openPage(tier);
    if (next === 0) return 0;
    store<u32>(pool, next);
    if (page !== 0 && ENTRIES - load<u32>(page, USED) >= WORTH_FILLING) link(page, tier);
    cell = freeCellOf(next);
  }
  store<u64>(cell - HASH_BACK, hash);
  store<u32>(cell, id);
  return cell;
}

/** Takes the next free cell of a page; 0 when there is none. */
function freeCellOf(page: usize): usize {
  for (let cursor = load<u32>(page, CURSOR); cursor < BITMAP_WORDS; cursor++) {
    const word = page + (cursor << 2);
    const free = load<u32>(word, BITMAP);
    if (free === 0) continue;
    store<u32>(word, free & (free - 1), BITMAP);
    store<u32>(page, cursor, CURSOR);
    store<u32>(page, load<u32>(page, USED) + 1, USED);
    return page + FIRST_ENTRY + <usize>((cursor << 5) + ctz(free)) * ENTRY + HASH_BACK;
  }
  store<u32>(page, BITMAP_WORDS, CURSOR);
  return 0;
}

/** A page to be filled: one with free entries, or a new one. */
function openPage(tier: u32): usize {
  const listed: usize = load<u32>(POOLS_AT + (tier << 3), 4);
  if (listed !== 0) {
    unlink(listed, tier);
    store<u32>(listed, 0, CURSOR);
    return listed;
  }
  const page = takePages(1);
  if (page === 0) return 0;
  memory.fill(page, 0, PAGE);
  memory.fill(page + BITMAP, 255, ENTRIES >> 3);
  store<u8>(page + BITMAP + (ENTRIES >> 3), <u8>(<u32>((1 << (ENTRIES & 7)) - 1)));
  return page;
}

export function giveBackEntry(tier: u32, cell: usize): void {
  store<u32>(cell, 0);
  const page = cell & ~(<usize>PAGE - 1);
  const index = <u32>((cell - HASH_BACK - FIRST_ENTRY - page) / ENTRY);
  const word = page + ((index >> 5) << 2);
  store<u32>(word, load<u32>(word, BITMAP) | (1 << (index & 31)), BITMAP);
  const used = load<u32>(page, USED) - 1;
  store<u32>(page, used, USED);
  if (page === load<u32>(POOLS_AT + (tier << 3))) return;
  const isListed = load<u32>(page, LISTED) !== 0;
  if (used === 0) {
    if (isListed) unlink(page, tier);
    giveBackPages(page, 1);
  } else if (!isListed && ENTRIES - used >= WORTH_FILLING) link(page, tier);
}

function link(page: usize, tier: u32): void {
  const head = POOLS_AT + (tier << 3) + 4;
  const first: usize = load<u32>(head);
  store<u32>(page, 0, PREVIOUS);
  store<u32>(page, first, NEXT);
  store<u32>(page, 1, LISTED);
  if (first !== 0) store<u32>(first, page, PREVIOUS);
  store<u32>(head, page);
}

function unlink(page: usize, tier: u32): void {
  const previous: usize = load<u32>(page, PREVIOUS);
  const after: usize = load<u32>(page, NEXT);
  if (previous !== 0) store<u32>(previous, after, NEXT);
  else store<u32>(POOLS_AT + (tier << 3) + 4, after);
  if (after !== 0) store<u32>(after, previous, PREVIOUS);
  store<u32>(page, 0, LISTED);
}
