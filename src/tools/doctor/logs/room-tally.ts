import type { RoomFacts, SignalDetails } from '../../../engines/diagnosis/log-findings.js';
import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import { roomValue } from './general/room-faults.js';

/** Lines of one message, and those with which ranks and tracebacks repeat it. */
const NEAR_LINES = 24;
/** Lines between what an engine did and the fault that it ends with. */
const BEFORE_LINES = 120;

/**
 * A lack of room, which engines report over several lines: the fault, then its
 * numbers. It is kept until another fault comes or the log ends, and counted
 * once with all of them.
 */
export class RoomTally {
  readonly #count: (line: LogLine, details: SignalDetails) => void;
  #open: { readonly line: LogLine; readonly details: SignalDetails; last: number; lines: number } | undefined;
  #facts: RoomFacts = {};
  #factsLine = Number.NEGATIVE_INFINITY;
  #isOnCpu = false;
  #hybridOffBy: string | undefined;

  constructor(count: (line: LogLine, details: SignalDetails) => void) {
    this.#count = count;
  }

  add(line: LogLine, details: SignalDetails): void {
    const open = this.#open;
    const isSame =
      open !== undefined && open.details.value === details.value && line.lineNumber - open.last <= NEAR_LINES;
    if (isSame) {
      if (line.lineNumber > open.last) open.lines += 1;
      open.last = line.lineNumber;
      return;
    }
    this.finish();
    if (line.lineNumber - this.#factsLine > BEFORE_LINES) this.#facts = {};
    this.#open = { line, details, last: line.lineNumber, lines: 1 };
  }

  /** Of several numbers the first counts, which is that of the first batch and rank; of several places the last. */
  addFacts({ lineNumber }: LogLine, facts: RoomFacts): void {
    if (facts.isOnCpu === true) this.#isOnCpu = true;
    this.#hybridOffBy = facts.hybridOffBy ?? this.#hybridOffBy;
    const open = this.#open;
    const isLate = open !== undefined && lineNumber - open.last > NEAR_LINES;
    const isOld = open === undefined && lineNumber - this.#factsLine > BEFORE_LINES;
    if (isLate) this.finish();
    const known = isLate || isOld ? {} : this.#facts;
    this.#facts = { ...facts, ...known, ...(facts.taking === undefined ? {} : { taking: facts.taking }) };
    this.#factsLine = lineNumber;
  }

  takenFor({ lineNumber }: LogLine): RoomFacts['taking'] {
    return lineNumber - this.#factsLine <= BEFORE_LINES ? this.#facts.taking : undefined;
  }

  /** Counts what is open. */
  finish(): void {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return;
    const { line, details, lines } = open;
    const value = roomValue(details.value ?? '', {
      ...this.#facts,
      isOnCpu: this.#isOnCpu,
      hybridOffBy: this.#hybridOffBy,
    });
    this.#facts = {};
    this.#count(line, { ...details, value, count: lines });
  }
}
