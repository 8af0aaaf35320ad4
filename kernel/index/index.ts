// The prefix index: sequence hash -> the set of holders of that block, a table
// a tier, in one shared memory. One thread, the owner, changes it; any thread
// looks up. `layout.ts` says where everything lies.
import {
  AREA_BARRIER,
  AREA_DEPTHS,
  AREA_HOLDERS,
  AREA_INPUT,
  AREA_LIST,
  AREA_PAGES,
  INPUT_HASHES,
  OWN_AREA,
  VERSION,
  WAITING,
} from './layout';
import { takePages } from './pages';
import { entriesOf } from './table';

export {
  blocksOf,
  dropHolder,
  isSwept,
  outOfMemory,
  removeAll,
  reuseHolder,
  storeAll,
  sweepSegment,
} from './apply';
export { findEnd, findMore, findStart, heldOf } from './find';

import { findEnd, findMore, findStart } from './find';

export { scan, scannedEntries } from './scan';

export function entries(tier: u32): u32 {
  return entriesOf(tier);
}

/** A look-up of hashes that all fit into the area. */
export function find(area: usize, count: u32, deepest: u32): u32 {
  findStart(area);
  findMore(area, count, deepest);
  return findEnd(area);
}

/** An area for one more reader; 0 when there is no memory. */
export function openArea(): usize {
  return takePages(AREA_PAGES);
}

export function ownArea(): usize {
  return OWN_AREA;
}

export function inputOffset(): usize {
  return AREA_INPUT;
}

export function holdersOffset(): usize {
  return AREA_HOLDERS;
}

export function depthsOffset(): usize {
  return AREA_DEPTHS;
}

export function scannedIdsOffset(): usize {
  return AREA_LIST;
}

export function inputHashes(): u32 {
  return INPUT_HASHES;
}

/** For a reader, before and after: all that it read in between is of this version when both are the same and even. */
export function readVersion(area: usize): u32 {
  // Read-modify-write, which nothing that was read before falls behind.
  atomic.add<u32>(area + AREA_BARRIER, 1);
  return atomic.load<u32>(VERSION);
}

/** Where the version lies, for who waits for it to change. */
export function versionAddress(): usize {
  return VERSION;
}

/** A reader asks the writer to let it through before the next change. */
export function askForQuiet(): void {
  atomic.store<u32>(WAITING, 1);
}

/** A reader has what it wanted. */
export function endQuiet(): void {
  atomic.store<u32>(WAITING, 0);
}
