import { Durations } from './durations.js';
import { VIEW_LIMITS, type ViewBucket, type ViewRouting } from './view-document.js';

/** Whether a prompt begins a conversation, or most of it was computed before. */
export type Turn = 'first' | 'follow_up';

/** Requests and tokens that were lost for one reason. */
interface LostCount {
  requests: number;
  tokens: number;
}

/** What happened within one bucket's time: plain numbers, so that counting a request allocates nothing. */
export class Bucket {
  atMs = 0;
  decisions = 0;
  finished = 0;
  promptTokens = 0;
  bestTokens = 0;
  chosenTokens = 0;
  engineTokens = 0;
  outputTokens = 0;
  ejections = 0;
  indexBlocks = 0;
  storedBlocks = 0;
  removedBlocks = 0;
  refused = 0;
  /** Whether it was changed since it was read. */
  isChanged = false;
  readonly #lost = new Map<string, LostCount>();
  readonly #failures = new Map<string, number>();
  readonly #firstTokens: Readonly<Record<Turn, Durations>> = {
    first: new Durations(),
    follow_up: new Durations(),
  };

  /** One request lost so many tokens. `reason` is of a closed list. */
  lose(reason: string, tokens: number): void {
    const lost = this.#lost.get(reason);
    if (lost === undefined) this.#lost.set(reason, { requests: 1, tokens });
    else {
      lost.requests += 1;
      lost.tokens += tokens;
    }
  }

  /** One request failed. `seen` is of a closed list. */
  fail(seen: string): void {
    this.#failures.set(seen, (this.#failures.get(seen) ?? 0) + 1);
  }

  /** The first token of a request came so long after the decision. */
  answer(turn: Turn, durationMs: number): void {
    this.#firstTokens[turn].add(durationMs);
  }

  /** Begins again, as the bucket of another time. */
  begin(atMs: number, indexBlocks: number): void {
    this.atMs = atMs;
    this.decisions = 0;
    this.finished = 0;
    this.promptTokens = 0;
    this.bestTokens = 0;
    this.chosenTokens = 0;
    this.engineTokens = 0;
    this.outputTokens = 0;
    this.ejections = 0;
    this.indexBlocks = indexBlocks;
    this.storedBlocks = 0;
    this.removedBlocks = 0;
    this.refused = 0;
    this.isChanged = false;
    this.#lost.clear();
    this.#failures.clear();
    this.#firstTokens.first.clear();
    this.#firstTokens.follow_up.clear();
  }

  /** As it is shown. */
  read(): ViewBucket {
    const firstTurn = this.#firstTokens.first.read();
    const followUp = this.#firstTokens.follow_up.read();
    return {
      atMs: this.atMs,
      decisions: this.decisions,
      finished: this.finished,
      promptTokens: this.promptTokens,
      bestTokens: this.bestTokens,
      chosenTokens: this.chosenTokens,
      engineTokens: this.engineTokens,
      outputTokens: this.outputTokens,
      lost: Object.fromEntries(
        [...this.#lost].map(([reason, { requests, tokens }]) => [reason, [requests, tokens] as const]),
      ),
      ...(firstTurn === undefined ? {} : { firstTurn }),
      ...(followUp === undefined ? {} : { followUp }),
      failures: Object.fromEntries(this.#failures),
      ejections: this.ejections,
      indexBlocks: this.indexBlocks,
      storedBlocks: this.storedBlocks,
      removedBlocks: this.removedBlocks,
      refused: this.refused,
    };
  }
}

/** The last 15 minutes of one model, in buckets of 10 s that are used again: 80 KB, however many requests there are. */
export class RoutingHistory {
  readonly #group: string;
  readonly #ring: Bucket[] = [];
  /** Place of the newest one. */
  #last = -1;

  constructor(group: string) {
    this.#group = group;
  }

  /** The bucket of this time, to be changed. Time that goes back counts as the newest bucket's. */
  at(atMs: number): Bucket {
    const beginsMs = Math.floor(atMs / VIEW_LIMITS.bucketMs) * VIEW_LIMITS.bucketMs;
    const newest = this.#ring[this.#last];
    if (newest !== undefined && beginsMs <= newest.atMs) {
      newest.isChanged = true;
      return newest;
    }
    this.#last = (this.#last + 1) % VIEW_LIMITS.buckets;
    let bucket = this.#ring[this.#last];
    if (bucket === undefined) {
      bucket = new Bucket();
      this.#ring[this.#last] = bucket;
    }
    bucket.begin(beginsMs, newest?.indexBlocks ?? 0);
    bucket.isChanged = true;
    return bucket;
  }

  /** All that are not older than 15 minutes at this time, oldest first. */
  read(atMs: number): ViewRouting {
    return this.#show(atMs, () => true);
  }

  /** Those that were changed since the last call; undefined where there is none. */
  takeChanged(atMs: number): ViewRouting | undefined {
    const changed = this.#show(atMs, ({ isChanged }) => isChanged);
    for (const bucket of this.#ring) bucket.isChanged = false;
    return changed.buckets.length === 0 ? undefined : changed;
  }

  #show(atMs: number, isWanted: (bucket: Bucket) => boolean): ViewRouting {
    const oldestMs = atMs - VIEW_LIMITS.buckets * VIEW_LIMITS.bucketMs;
    const ordered = [...this.#ring.slice(this.#last + 1), ...this.#ring.slice(0, this.#last + 1)];
    return {
      group: this.#group,
      bucketMs: VIEW_LIMITS.bucketMs,
      buckets: ordered
        .filter((bucket) => bucket.atMs > oldestMs && isWanted(bucket))
        .map((bucket) => bucket.read()),
    };
  }
}
