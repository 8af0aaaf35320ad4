import type { MemberView } from '../../../core/agreement/view/snapshot.js';
import type { AskedIndex } from '../index/asked-index.js';
import type { Churn } from '../index/rank-match.js';
import type { RelaySource } from '../relays/relay-source.js';
import type { FollowerStateName } from './worker-follower.js';

/** The index of one group in one epoch, whatever it learns from. */
export interface GroupIndex extends AskedIndex {
  /** Different blocks that any rank holds. */
  readonly blocks: number;
  readonly memoryBytes: number;
  /** Blocks that were stored and removed in this epoch, of all workers. */
  readonly churn: Churn;
  /** The same of one worker since its stream began; undefined where nothing is counted of it. */
  churnOf(target: string): Churn | undefined;
  /** Where the following of each worker's KV events stands. */
  readonly followerStates: readonly FollowerStateName[];
  /** Takes the group's members; of those that are not offered fully nothing is in the index. */
  setMembers(members: readonly MemberView[]): void;
  /** The way to a worker's events is another one, or none. */
  setSource(target: string, source: RelaySource | undefined): void;
  /** A8, G5: everything held for this instance is dropped. */
  forget(target: string, instanceId: string): void;
  /** Ends all that it does. */
  close(): void;
}
