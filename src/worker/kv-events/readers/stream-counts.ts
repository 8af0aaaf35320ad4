/** How a gap in an engine's stream ended. */
export const GAP_OUTCOMES = [
  /** The engine gave the missing batches again. */
  'replayed',
  /** The source has no replay endpoint. */
  'no_replay_endpoint',
  /** The engine does not keep the missing batches any more. */
  'replay_incomplete',
  'replay_timeout',
  'replay_too_large',
  'replay_bad_reply',
  'replay_unreachable',
] as const;

/** One of `GAP_OUTCOMES`. */
export type GapOutcome = (typeof GAP_OUTCOMES)[number];

/** Why frames of a publisher were not taken for a batch; `fault`: this program failed on them. */
export const REFUSED_FRAMES = ['frame_count', 'sequence', 'fault'] as const;

/** One of `REFUSED_FRAMES`. */
export type RefusedFrames = (typeof REFUSED_FRAMES)[number];

/** Upper bounds, in milliseconds, of the buckets of lag; the last bucket has none. */
export const LAG_BUCKETS_MS = [1, 5, 25, 100, 500, 2_500, 10_000] as const;

/** Longest lag that is counted: what is further away is a clock that is wrong, and would outweigh all others in the sum. */
const MAX_LAG_MS = 3_600_000;

/** What happened on one engine's streams since the process began, for the metrics of its owner. */
export class StreamCounts {
  /** Gaps by how they ended. */
  readonly gaps: Record<GapOutcome, number> = zeros(GAP_OUTCOMES);
  /** Messages that are no batch. */
  readonly refused: Record<RefusedFrames, number> = zeros(REFUSED_FRAMES);
  /** Times that a publisher's sequence restarted. */
  publisherRestarts = 0;
  /** Times that a connection to a publisher was lost. */
  disconnects = 0;
  /** Batches that were applied, live and replayed. */
  batches = 0;
  /** Of these, the ones that a replay gave. */
  replayedBatches = 0;
  /** Batches that came again and changed nothing. */
  duplicates = 0;
  /** Payload bytes of the batches that were applied. */
  bytes = 0;
  /** Times that a cache view was built from the oldest batch that the engine keeps, the first time included. */
  rebuilds = 0;
  /** Live batches whose time of publishing is known. */
  lagCount = 0;
  /** Milliseconds from publishing to applying, by both hosts' wall clocks, of all of them. */
  lagSumMs = 0;
  /** The same of the last one; undefined before the first. */
  lastLagMs: number | undefined;
  /** How many fell into each bucket of `LAG_BUCKETS_MS`, and beyond the last. Not cumulative. */
  readonly lagBuckets: number[] = new Array<number>(LAG_BUCKETS_MS.length + 1).fill(0);

  countLag(lagMs: number): void {
    if (!(lagMs <= MAX_LAG_MS)) return;
    // Clocks of two hosts may differ; nothing arrives before it was sent.
    const boundedMs = Math.max(0, lagMs);
    this.lastLagMs = boundedMs;
    this.lagSumMs += boundedMs;
    this.lagCount += 1;
    const bucket = LAG_BUCKETS_MS.findIndex((boundMs) => boundedMs <= boundMs);
    const at = bucket === -1 ? LAG_BUCKETS_MS.length : bucket;
    this.lagBuckets[at] = (this.lagBuckets[at] ?? 0) + 1;
  }
}

function zeros<Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
}
