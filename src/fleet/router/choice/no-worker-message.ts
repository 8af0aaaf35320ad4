import { nameSome } from '../../../core/text/lists.js';
import { workerName } from '../../../core/text/worker-name.js';
import { AGGREGATED_PARTS, PARTS } from './candidates.js';
import type { KnownRank } from './rank-table.js';

/** Why no rank is left to choose. `all`: those that are offered; undefined while no epoch has begun. `excluded` are targets. */
export function noWorkerMessage(all: readonly KnownRank[] | undefined, excluded: readonly string[]): string {
  if (all === undefined) return 'no worker can be given a request: no epoch has begun';
  if (all.length === 0) return 'no worker can be given a request: none is offered';
  if (!all.some(({ candidate: { parts = AGGREGATED_PARTS } }) => (parts & PARTS.whole) !== 0))
    return 'no worker can be given a whole request: all that are offered compute a part, and this request is not sent to two of them';
  const names = new Map(all.map(({ candidate }) => [candidate.target, workerName(candidate)]));
  return `no worker can be given a request: all ${all.length} ranks that are offered are excluded, or were tried before (${nameSome(excluded.map((target) => names.get(target) ?? target))})`;
}
