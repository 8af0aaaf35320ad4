// The prefix index: sequence hash -> the set of holders of that block, a table
// a tier, in one memory. `layout.ts` says where everything lies.
import { AREA_DEPTHS, AREA_HOLDERS, AREA_INPUT, AREA_LIST, INPUT_HASHES, OWN_AREA } from './layout';
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
