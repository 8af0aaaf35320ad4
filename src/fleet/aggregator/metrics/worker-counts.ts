import type { MemberView } from '../../../core/agreement/view/snapshot.js';
import { NOTHING_PUBLISHED } from '../../../core/contract/wire/cache-view.js';

/**
 * What a model has of a worker, as `kv_accord_group_workers` counts it. Every listed worker counts under one of them:
 * - `offered`: it can get requests now;
 * - `lost`: it reported before, and does not now; within `--grace` requests may still go to it;
 * - `silent`: it is listed, and has sent no report that can be used;
 * - `kept_out`: it reports, and gets no requests because it differs or nothing is agreed;
 * - `draining`: it is on its way out.
 */
type WorkerCount = 'offered' | 'lost' | 'silent' | 'kept_out' | 'draining';

/** All of them, in the order of the documentation. */
export const WORKER_COUNTS: readonly WorkerCount[] = ['offered', 'lost', 'silent', 'kept_out', 'draining'];

/** Under which of them a member counts. `hasGroup`: whether a report has put it into a group. */
function workerCountOf({ state, offer }: MemberView, hasGroup: boolean): WorkerCount {
  switch (state) {
    case 'draining':
    case 'lost':
      return state;
    case 'discovered':
      // It has a group from a report that counts no longer: the grace time is over, or the last one was refused.
      return hasGroup ? 'lost' : 'silent';
    case 'incomplete':
      return 'silent';
    default:
      return offer === 'none' ? 'kept_out' : 'offered';
  }
}

/** How many of `members` count under each. */
export function countMembers(
  members: readonly MemberView[],
  hasGroup: boolean,
): ReadonlyMap<WorkerCount, number> {
  const counts = new Map<WorkerCount, number>(WORKER_COUNTS.map((name) => [name, 0]));
  for (const member of members) {
    const name = workerCountOf(member, hasGroup);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

/**
 * How many that get requests have a cache view that is not exact. An engine
 * that has published nothing yet is not counted: it is new or idle.
 */
export function countInexact(members: readonly MemberView[]): number {
  return members.filter(
    ({ offer, cacheView, cacheViewReason }) =>
      offer !== 'none' && cacheView !== 'exact' && !cacheViewReason.includes(NOTHING_PUBLISHED),
  ).length;
}
