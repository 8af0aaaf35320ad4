import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import type { Fault } from './general/fault-classes.js';

/** Peers whose polls are kept apart. */
const MAX_PEERS = 32;
/** Polls have ended where no more came for so many of their longest waits, and for so many lines. */
const WAITS = 3;
const MIN_LINES = 40;

/** The polls of one peer that failed. */
export interface FailedPolls {
  readonly fault: Fault;
  /** The first line that is no matter of a start. */
  readonly line: LogLine;
  readonly text: string;
  readonly count: number;
}

interface Polls {
  kept: Omit<FailedPolls, 'count'> | undefined;
  count: number;
  last: number;
  longestWait: number;
}

/** Polls of programs that do not answer, by peer. Those that end before the log does have healed: a peer was still starting. */
export class LastingPolls {
  readonly #polls = new Map<string, Polls>();

  /** Whether this is one of so many that it may last: fewer are of a start. */
  add(line: LogLine, text: string, fault: Fault, atLeast: number): boolean {
    const polls = this.#pollsOf(fault.value);
    if (polls === undefined) return false;
    polls.count += 1;
    if (polls.count > 1) polls.longestWait = Math.max(polls.longestWait, line.lineNumber - polls.last);
    polls.last = line.lineNumber;
    if (polls.count < atLeast) return false;
    polls.kept ??= { fault, line, text };
    return true;
  }

  /** Those that last to the end of a log of so many lines. */
  finish(lines: number): readonly FailedPolls[] {
    return [...this.#polls.values()].flatMap(({ kept, count, last, longestWait }) =>
      kept === undefined || lines - last > Math.max(MIN_LINES, WAITS * longestWait)
        ? []
        : [{ ...kept, count }],
    );
  }

  #pollsOf(peer: string): Polls | undefined {
    let polls = this.#polls.get(peer);
    if (polls === undefined && this.#polls.size < MAX_PEERS) {
      polls = { kept: undefined, count: 0, last: 0, longestWait: 0 };
      this.#polls.set(peer, polls);
    }
    return polls;
  }
}
