import type { ViewTone } from './view-document.js';

/** The worst first. */
export const VIEW_PAIR_STATES = ['set_aside', 'cannot_pair', 'cannot_say', 'can_pair'] as const;

/** See rules P2, P4 and P6 of `docs/agreement.md`. */
export type ViewPairState = (typeof VIEW_PAIR_STATES)[number];

/** What `GET /api/v1/view/pairs` answers: the pairs of prefill and decode workers. */
export interface ViewPairs {
  /** Models with workers of both roles, by name, at most 200. */
  readonly groups: readonly ViewPairGroup[];
}

/** The pairs of one model. */
export interface ViewPairGroup {
  readonly group: string;
  readonly prefillCount: number;
  readonly decodeCount: number;
  readonly counts: Readonly<Record<ViewPairState, number>>;
  /** Whether `pairs` has all. Else it has the worst alone, at most 200: those that cannot be used, are not sure, or are slow. */
  readonly isWhole: boolean;
  /** By the names of prefill and decode worker where these are all, else the worst first. */
  readonly pairs: readonly ViewPair[];
}

/** How good each state is. */
export const PAIR_TONES: Readonly<Record<ViewPairState, ViewTone>> = {
  can_pair: 'good',
  cannot_say: 'warn',
  cannot_pair: 'bad',
  set_aside: 'warn',
};

/** One pair. */
export interface ViewPair {
  /** Addresses of the two workers in discovery. */
  readonly prefillTarget: string;
  readonly decodeTarget: string;
  /** Their own names; the address of one that has none. */
  readonly prefill: string;
  readonly decode: string;
  readonly state: ViewPairState;
  readonly tone: ViewTone;
  /** How near the two are: `nvlink_host`, `same_zone`, … */
  readonly class: string;
  /** What proves the class. */
  readonly classEvidence: string;
  /** Why it is in that state, with both values of what differs; empty for `can_pair`. At most 1,000 characters. */
  readonly why: string;
  /** Whether requests are sent over it. */
  readonly isOffered: boolean;
  readonly transfers: number;
  readonly failedTransfers: number;
  /** What transfers took lately; absent before the first that was measured. */
  readonly msPerMib?: number;
  readonly gbPerS?: number;
  /** What links of its class move at least, in GB/s; absent where nothing is promised. */
  readonly promisedGbPerS?: number;
  /** Whether it moves far less than that. */
  readonly isSlow?: boolean;
  /** Milliseconds until one that is set aside is tried again. */
  readonly retryInMs?: number;
}
