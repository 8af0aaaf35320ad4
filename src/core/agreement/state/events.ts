import type { ContractValues } from '../../contract/contract-values.js';
import type { CacheView } from '../../contract/wire/cache-view.js';
import type { EvidenceSource } from '../../contract/wire/enums.js';
import type { WorkerReport } from '../../contract/worker-report.js';
import type { ChannelAnswer, ChannelQuestion } from '../../pairs/side-channels.js';

/** A member as discovery lists it. */
export interface ListedMember {
  readonly target: string;
  readonly draining: boolean;
  /** A12: true while the platform has no machine for it, so that it can have no value; what is not known is false. */
  readonly unscheduled?: boolean;
  /** Distinguishes it from another one that had its name before; undefined where it is unknown. */
  readonly identity?: string | undefined;
}

/** Whether two members of one name are not the same; an unknown identity is no difference. */
export function isOtherIdentity(one: string | undefined, other: string | undefined): boolean {
  return one !== undefined && other !== undefined && one !== other;
}

/** How many members there are to be in all groups together, and what says so (`Deployment worker`). */
export interface ExpectedMembers {
  readonly count: number;
  readonly origin: string;
}

/** What can happen to a fleet. */
export type AgreementEvent =
  /** Discovery gives its full list, and how many members it expects where it knows. */
  | {
      readonly type: 'listed';
      readonly members: readonly ListedMember[];
      readonly expected?: ExpectedMembers | undefined;
    }
  /** Discovery says why its list is empty or old; undefined: nothing is wrong with it. It decides nothing, and is shown. */
  | { readonly type: 'discovery'; readonly problem: string | undefined }
  /** A sidecar sent a report. */
  | { readonly type: 'report'; readonly target: string; readonly report: WorkerReport }
  /** A sidecar sent something that is not believed. */
  | { readonly type: 'report_refused'; readonly target: string; readonly problems: readonly string[] }
  /** A sidecar was heard without news: its last report stands. */
  | { readonly type: 'alive'; readonly target: string }
  /** The session with a sidecar broke; `reason` is for an operator. */
  | { readonly type: 'broken'; readonly target: string; readonly reason: string }
  /**
   * The index says how much it knows of what a member holds; it counts for
   * `instanceId` in the running epoch alone, and is to be said again after
   * `epoch_started`.
   */
  | {
      readonly type: 'cache_view';
      readonly target: string;
      readonly instanceId: string;
      readonly level: CacheView;
      /** For an operator; empty when the cache view is exact. */
      readonly reason: string;
    }
  /**
   * A router found that what the engine reports of its requests contradicts the
   * cache view, or does so no longer; it counts for `instanceId` in the running
   * epoch alone.
   */
  | {
      readonly type: 'doubt';
      readonly target: string;
      readonly instanceId: string;
      /** The numbers and the likeliest cause, for an operator; empty when the results agree. */
      readonly reason: string;
    }
  /**
   * A router gives a member no requests at present, or does so again. It changes nothing that is agreed: it is shown with
   * the member.
   */
  | {
      readonly type: 'ejection';
      readonly target: string;
      /** What its requests met, for an operator; empty when it gets requests again. */
      readonly reason: string;
    }
  /**
   * V3: store events of another width than the epoch's came and were not
   * applied. Reported immediately for the first of an instance, then in sums.
   */
  | {
      readonly type: 'mismatched_events';
      readonly target: string;
      readonly instanceId: string;
      readonly tokensPerBlock: number;
      readonly count: number;
    }
  /** P2: a decode worker's sidecar answered about a prefill worker's side channel, or could not be asked. */
  | {
      readonly type: 'channel_answer';
      readonly group: string;
      readonly question: ChannelQuestion;
      readonly answer: ChannelAnswer;
    }
  /** The book of pairs changed by what happened in service (P6). */
  | { readonly type: 'pairs_changed' }
  /** Time has passed. */
  | { readonly type: 'tick' };

/** Closed list of what is logged, so that logs can be searched and counted. */
export type LogCode =
  | 'waiting_for_workers'
  | 'conflict'
  | 'conflict_over'
  | 'agreed'
  | 'rehashed'
  | 'partial'
  | 'partial_over'
  | 'override_differs'
  | 'worker_dissents'
  | 'block_size_mismatch'
  | 'worker_contradicts_itself'
  | 'new_epoch'
  | 'change_refused'
  | 'topology_differs'
  | 'tokens_differ'
  | 'event_sources_differ'
  | 'report_refused'
  | 'worker_lost'
  | 'worker_back'
  | 'instance_replaced'
  | 'group_ended'
  | 'routing_mode'
  | 'too_many_groups'
  | 'model_changes'
  | 'pair_set_aside'
  | 'pair_back'
  | 'pair_slow'
  | 'no_partner';

/** What the runner must do. The reducer itself does nothing. */
export type AgreementEffect =
  | {
      readonly type: 'log';
      readonly level: 'info' | 'warn' | 'error';
      readonly code: LogCode;
      readonly group: string;
      /** The worker that it is about; absent when it is about none or several. */
      readonly worker?: string;
      readonly message: string;
    }
  /** G2: the index of this epoch is to be made now, before `gate` says open. */
  | {
      readonly type: 'epoch_started';
      readonly group: string;
      readonly epoch: number;
      readonly values: ContractValues;
      readonly isOverride: boolean;
      /** From the first listing of a member of the group to now. */
      readonly collectedForMs: number;
    }
  | { readonly type: 'epoch_ended'; readonly group: string; readonly epoch: number }
  | { readonly type: 'gate'; readonly group: string; readonly open: boolean }
  /** For `kv_router_block_size_mismatch_total`. */
  | {
      readonly type: 'mismatch';
      readonly group: string;
      readonly worker: string;
      /** Its name for people; empty where it has none. */
      readonly workerId: string;
      readonly source: EvidenceSource;
      /** How many more: 1 for a report, the number of events for events. */
      readonly count: number;
    }
  /** A8, G5, V3: everything held for this instance is to be dropped. */
  | {
      readonly type: 'forget_instance';
      readonly group: string;
      readonly target: string;
      readonly instanceId: string;
    }
  /** P2: the sidecar beside a decode engine is to be asked; an answer is to come in any case. */
  | { readonly type: 'ask_channel'; readonly group: string; readonly question: ChannelQuestion }
  | { readonly type: 'group_ended'; readonly group: string }
  /** A9 under `on_change=refuse`: the process is to end with the conflict code. */
  | { readonly type: 'refuse'; readonly group: string; readonly message: string };
