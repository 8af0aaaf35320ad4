// The prefix index: sequence hash -> the set of holders of that block, a table
// a tier, in one memory. `layout.ts` says where everything lies.
import { AREA, AREA_DEPTHS, AREA_HOLDERS, AREA_INPUT, AREA_LIST, INPUT_HASHES, MAX_HOLDERS } from './layout';
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
export function find(count: u32, deepest: u32): u32 {
  findStart();
  findMore(count, deepest);
  return findEnd();
}

export function inputAddress(): usize {
  return AREA + AREA_INPUT;
}

export function holdersAddress(): usize {
  return AREA + AREA_HOLDERS;
}

export function depthsAddress(): usize {
  return AREA + AREA_DEPTHS;
}

export function scannedIdsAddress(): usize {
  return AREA + AREA_LIST;
}

export function inputHashes(): u32 {
  return INPUT_HASHES;
}

export function maxHolders(): u32 {
  return MAX_HOLDERS;
}
