// Memory for holder sets: small ones share pages with others of their size,
// a page that empties goes back, large ones have pages of their own.
import { PAGE, PAGE_BITS, SLABS_AT } from './layout';
import { giveBackPages, takePages } from './pages';

// The head of a slab page.
const USED: usize = 4;
const FREE: usize = 8;
const PREVIOUS: usize = 12;
const NEXT: usize = 16;
/** Where the part of the page begins that was never used. */
const FRESH: usize = 20;
const HEAD_BYTES: u32 = 32;

/** Of a slab, in units of 16 bytes; two fit into a page. */
const LARGEST_UNITS: u32 = 448;

/** Sizes grow by one unit up to eight, then by a quarter to a fifth. */
function classOf(units: u32): u32 {
  if (units <= 8) return units;
  const top = 31 - clz(units - 1);
  return 9 + ((top - 3) << 2) + ((units - 1 - (1 << top)) >> (top - 2));
}

function bytesOfClass(sizeClass: u32): u32 {
  if (sizeClass <= 8) return sizeClass << 4;
  const top = 3 + ((sizeClass - 9) >> 2);
  return ((1 << top) + ((((sizeClass - 9) & 3) + 1) << (top - 2))) << 4;
}

/** Memory for `bytes`, aligned to 16; 0 when there is none. */
export function takeBytes(bytes: u32): usize {
  const units = (bytes + 15) >> 4;
  if (units > LARGEST_UNITS) return takePages((bytes + PAGE - 1) >> PAGE_BITS);
  const sizeClass = classOf(units);
  const size = bytesOfClass(sizeClass);
  let page: usize = load<u32>(SLABS_AT + (sizeClass << 2));
  if (page === 0) {
    page = takePages(1);
    if (page === 0) return 0;
    memory.fill(page, 0, HEAD_BYTES);
    store<u32>(page, HEAD_BYTES, FRESH);
    link(page, sizeClass);
  }
  let taken: usize = load<u32>(page, FREE);
  if (taken !== 0) store<u32>(page, load<u32>(taken), FREE);
  else {
    const fresh = load<u32>(page, FRESH);
    taken = page + fresh;
    store<u32>(page, fresh + size, FRESH);
  }
  store<u32>(page, load<u32>(page, USED) + 1, USED);
  if (isFull(page, size)) unlink(page, sizeClass);
  return taken;
}

export function giveBackBytes(address: usize, bytes: u32): void {
  const units = (bytes + 15) >> 4;
  if (units > LARGEST_UNITS) {
    giveBackPages(address, (bytes + PAGE - 1) >> PAGE_BITS);
    return;
  }
  const sizeClass = classOf(units);
  const page = address & ~(<usize>PAGE - 1);
  const wasFull = isFull(page, bytesOfClass(sizeClass));
  const used = load<u32>(page, USED) - 1;
  if (used === 0) {
    if (!wasFull) unlink(page, sizeClass);
    giveBackPages(page, 1);
    return;
  }
  store<u32>(page, used, USED);
  store<u32>(address, load<u32>(page, FREE));
  store<u32>(page, address, FREE);
  if (wasFull) link(page, sizeClass);
}

function isFull(page: usize, size: u32): bool {
  return load<u32>(page, FREE) === 0 && load<u32>(page, FRESH) + size > PAGE;
}

function link(page: usize, sizeClass: u32): void {
  const head = SLABS_AT + (sizeClass << 2);
  const first: usize = load<u32>(head);
  store<u32>(page, 0, PREVIOUS);
  store<u32>(page, first, NEXT);
  if (first !== 0) store<u32>(first, page, PREVIOUS);
  store<u32>(head, page);
}

function unlink(page: usize, sizeClass: u32): void {
  const previous: usize = load<u32>(page, PREVIOUS);
  const after: usize = load<u32>(page, NEXT);
  if (previous !== 0) store<u32>(previous, after, NEXT);
  else store<u32>(SLABS_AT + (sizeClass << 2), after);
  if (after !== 0) store<u32>(after, previous, PREVIOUS);
}
