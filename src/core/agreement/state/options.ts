import type { PairPolicy } from '../../pairs/pair-words.js';

/** How a fleet agrees; names and defaults as in `cli.md`. */
export interface AgreementOptions {
  /**
   * A1: no group is agreed with fewer reports. An integer of at least 1;
   * `auto`: not before as many members as discovery expects have reported, in
   * all groups together, because what is expected is not known by group.
   * Default 1.
   */
  readonly minWorkers: number | 'auto';
  /** A2, A12: what to do about listed workers that do not report. Default `quorum`. */
  readonly onMissing: 'quorum' | 'wait' | 'proceed';
  /**
   * A2, A12: how long `proceed` waits for the missing from the first listing
   * on, and `quorum` from the last worker on that reported for the first time.
   * Default 60 s.
   */
  readonly collectTimeoutMs: number;
  /** A3, A9: how long things must have stood still. Default 2 s. */
  readonly settleMs: number;
  /** G5: how long a lost worker keeps its place. Default 30 s. */
  readonly graceMs: number;
  /** A6: the operator's own value, 1 to 1,048,576; undefined takes it from the workers. */
  readonly overrideTokensPerBlock: number | undefined;
  /**
   * A15: what happens where block sizes differ that have a common multiple: `refuse` is a conflict, `rehash` agrees on
   * the least common multiple, into which sidecars re-hash smaller blocks. Default `refuse`.
   */
  readonly blockSizePolicy: 'refuse' | 'rehash';
  /** A9: what a fleet-wide change does. Default `new-epoch`. */
  readonly onChange: 'new-epoch' | 'wait-all' | 'refuse';
  /** A6, A7: whether workers that differ get requests. Default `quarantine`, under an override `load-only`. */
  readonly mismatchedWorkers: 'quarantine' | 'load-only';
  /** Whether a different parallelism or GPU product is logged at INFO, logged as a warning, or counts as dissent. Default `warn`. */
  readonly topology: 'report' | 'warn' | 'require';
  /**
   * A13: whether workers that make other tokens of the same prompts count as dissent, or are only warned of and have no
   * exact cache view. Default `require`.
   */
  readonly tokenProbes: 'require' | 'ignore';
  /**
   * P4: which pairs of prefill and decode workers count: `require` those that are known to work, `warn` those of which
   * nothing is known to stand against them, `report` all. Default `warn`.
   */
  readonly pairPolicy: PairPolicy;
  /** P2: whether side channels are checked from where decode engines are; else that is not known. Default false. */
  readonly checksSideChannels: boolean;
  /** V5: whether the frontend goes by what workers declare. Default `observed`. */
  readonly frontendUses: 'observed' | 'declared';
  /**
   * G7: what the index uses: the workers' live events, or guesses from what
   * was sent where. A process that holds no index has no cache views, and its
   * mode is `load_only` under `exact`. `unused`: no router runs in this process,
   * so its mode is worth no line of the log. Default `exact`.
   */
  readonly kvEvents: 'exact' | 'approximate' | 'unused';
  /** A3: the list of workers never changes, so there is nothing to settle. */
  readonly isStaticDiscovery: boolean;
}

/** The documented defaults, for discovery that may still change. */
export const DEFAULT_AGREEMENT_OPTIONS: AgreementOptions = {
  minWorkers: 1,
  onMissing: 'quorum',
  collectTimeoutMs: 60_000,
  settleMs: 2_000,
  graceMs: 30_000,
  overrideTokensPerBlock: undefined,
  blockSizePolicy: 'refuse',
  onChange: 'new-epoch',
  mismatchedWorkers: 'quarantine',
  topology: 'warn',
  tokenProbes: 'require',
  pairPolicy: 'warn',
  checksSideChannels: false,
  frontendUses: 'observed',
  kvEvents: 'exact',
  isStaticDiscovery: false,
};

/** A2: how often a WARN names who is missing. */
export const MISSING_WARN_INTERVAL_MS = 30_000;

/** Models that one aggregator keeps apart. A fleet has a few; hostile reports could name any number. */
export const MAX_GROUPS = 256;

/**
 * Other models that one member may name within `MODEL_CHANGE_WINDOW_MS` before it is turned away. A worker serves one
 * model for hours; each change may cost an epoch, an index and log lines.
 */
export const MAX_MODEL_CHANGES = 4;

/** For how long changes of model are counted, and for how long a member that was turned away must keep one. */
export const MODEL_CHANGE_WINDOW_MS = 60_000;

/** Distinct contracts that a group's reports may hold before the rest are no longer distinguished. */
export const MAX_DISTINCT_CONTRACTS = 1_024;
