import type { Measurements } from '../measurements/measurements.js';
import { fullCacheIn } from './full-cache.js';
import { largeBlocksIn } from './large-blocks.js';
import { nothingToFindIn } from './nothing-to-find.js';
import { rareFaultIn } from './rare-faults.js';
import { refusedRequestsIn } from './refused-requests.js';
import type { Remark } from './remark.js';
import { shortOfChunkIn } from './short-of-a-chunk.js';
import { unexplainedErrorsIn } from './unexplained-errors.js';
import { unfoundPromptsIn } from './unfound-prompts.js';
import { turnsWaitedFor } from './waiting-turns.js';

/** What was seen beside findings, each list in the order in which a report names them. */
export interface Remarks {
  /** Of lines with errors: they come before a finding that somebody may want as it is. */
  readonly ofErrors: readonly Remark[];
  /** Of how requests and caches do. */
  readonly ofLoad: readonly Remark[];
}

/** All remarks: another kind is a file beside this one, and a line here. */
export function remarksIn(measurements: Measurements): Remarks {
  const seen = (...kinds: readonly ((of: Measurements) => Remark | undefined)[]): readonly Remark[] =>
    kinds.flatMap((kind) => kind(measurements) ?? []);
  return {
    ofErrors: seen(rareFaultIn, unexplainedErrorsIn, refusedRequestsIn),
    ofLoad: seen(
      fullCacheIn,
      turnsWaitedFor,
      shortOfChunkIn,
      nothingToFindIn,
      unfoundPromptsIn,
      largeBlocksIn,
    ),
  };
}
