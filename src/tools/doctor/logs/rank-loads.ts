import type { EngineReading } from '../../../engines/diagnosis/log-findings.js';
import type { LogLine } from '../../../engines/diagnosis/log-line.js';

/** Requests from which on a rank's queue is no chance of the moment. */
const MANY_WAITING = 10;
/** Lines between the readings of two ranks that belong to one moment: each rank reports every ten seconds. */
const NEAR_LINES = 64;
/** Ranks of one engine that are followed. */
const MAX_RANKS = 64;

interface Load {
  readonly requests: number;
  readonly lineNumber: number;
}

/** Moments in which one rank of an engine had requests waiting while another one had none at all. */
export interface UnevenRanks<Place> {
  readonly moments: number;
  /** The rank that had most of them waiting, how many at most, and one that had nothing to do beside it. */
  readonly busyRank: number;
  readonly waiting: number;
  readonly idleRank: number;
  readonly first: Place;
}

/** Compares what the data-parallel ranks of one engine report of their requests. */
export class RankLoads {
  readonly #loads = new Map<number, Load>();
  #uneven: UnevenRanks<LogLine> | undefined;

  add({ rank, runningRequests, waitingRequests }: EngineReading, line: LogLine): void {
    if (rank === undefined || runningRequests === undefined || waitingRequests === undefined) return;
    const { lineNumber } = line;
    if (this.#loads.has(rank) || this.#loads.size < MAX_RANKS)
      this.#loads.set(rank, { requests: runningRequests + waitingRequests, lineNumber });
    if (waitingRequests < MANY_WAITING) return;
    const idle = [...this.#loads].find(
      ([other, load]) => other !== rank && load.requests === 0 && lineNumber - load.lineNumber <= NEAR_LINES,
    );
    if (idle === undefined) return;
    const before = this.#uneven;
    const isMost = waitingRequests > (before?.waiting ?? 0);
    this.#uneven = {
      moments: (before?.moments ?? 0) + 1,
      busyRank: isMost ? rank : (before?.busyRank ?? rank),
      waiting: Math.max(waitingRequests, before?.waiting ?? 0),
      idleRank: isMost ? idle[0] : (before?.idleRank ?? idle[0]),
      first: before?.first ?? line,
    };
  }

  /** Undefined where the ranks share their requests, or where there is one alone. */
  finish(): UnevenRanks<LogLine> | undefined {
    return this.#uneven;
  }
}
