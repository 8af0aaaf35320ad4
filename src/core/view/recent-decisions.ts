import type { Turn } from './routing-history.js';
import { VIEW_LIMITS, type ViewCandidate, type ViewDecision } from './view-document.js';

/** Decisions of a second that are kept with their candidates: nobody reads more, and each costs some microseconds. */
const MAX_PER_SECOND = 50;

/** What is known of a decision when it is made. */
export interface NewDecision {
  readonly atMs: number;
  readonly group: string;
  readonly epoch: number;
  /** The worker's name for people, and its name in discovery. */
  readonly worker: string;
  readonly target: string;
  /** Undefined where the worker has one rank. */
  readonly dataParallelRank: number | undefined;
  readonly promptTokens: number | undefined;
  readonly promptBlocks: number;
  readonly cachedBlocks: number;
  readonly bestBlocks: number;
  readonly routingMode: string;
  readonly turn: Turn;
  readonly why: string;
  readonly lostReason: string | undefined;
  readonly candidates: readonly ViewCandidate[];
  readonly candidateCount: number;
}

/** What became of a decision; undefined while it is not known. */
export interface Outcome {
  firstTokenMs?: number | undefined;
  engineTokens?: number | undefined;
  outputTokens?: number | undefined;
  failure?: string | undefined;
  isOver: boolean;
}

/** A decision whose outcome is still to come. */
export class DecisionNote {
  readonly id: number;
  readonly made: NewDecision;
  readonly #outcome: Outcome = { isOver: false };
  /** Whether it was changed since it was read. */
  isChanged = true;

  constructor(id: number, made: NewDecision) {
    this.id = id;
    this.made = made;
  }

  /** Takes what is known now. */
  learn(outcome: Partial<Outcome>): void {
    Object.assign(this.#outcome, outcome);
    this.isChanged = true;
  }

  /** As it is shown; `numberOf` gives the number of a worker that is listed. */
  read(numberOf: (target: string) => number | undefined): ViewDecision {
    const { target, dataParallelRank, promptTokens, lostReason, ...made } = this.made;
    const { firstTokenMs, engineTokens, outputTokens, failure, isOver } = this.#outcome;
    const workerNumber = numberOf(target);
    return {
      id: this.id,
      ...made,
      ...(workerNumber === undefined ? {} : { workerNumber }),
      ...(dataParallelRank === undefined ? {} : { dataParallelRank }),
      ...(promptTokens === undefined ? {} : { promptTokens }),
      ...(lostReason === undefined ? {} : { lostReason }),
      ...(firstTokenMs === undefined ? {} : { firstTokenMs }),
      ...(engineTokens === undefined ? {} : { engineTokens }),
      ...(outputTokens === undefined ? {} : { outputTokens }),
      ...(failure === undefined ? {} : { failure }),
      isOver,
    };
  }
}

/** The last 50 decisions of all models, of at most 50 a second. */
export class RecentDecisions {
  readonly #notes: DecisionNote[] = [];
  #nextId = 1;
  #second = { sinceMs: Number.NEGATIVE_INFINITY, count: 0 };

  /** Whether the decision of this time is kept; to be asked before its candidates are gathered. */
  wants(atMs: number): boolean {
    const ageMs = atMs - this.#second.sinceMs;
    if (ageMs >= 1_000 || ageMs < 0) this.#second = { sinceMs: atMs, count: 0 };
    this.#second.count += 1;
    return this.#second.count <= MAX_PER_SECOND;
  }

  /** Keeps one, and forgets the oldest. */
  add(made: NewDecision): DecisionNote {
    const note = new DecisionNote(this.#nextId, made);
    this.#nextId += 1;
    this.#notes.push(note);
    if (this.#notes.length > VIEW_LIMITS.decisions) this.#notes.shift();
    return note;
  }

  /** All, oldest first. */
  get all(): readonly DecisionNote[] {
    return this.#notes;
  }

  /** Those that were added or changed since the last call. */
  takeChanged(): readonly DecisionNote[] {
    const changed = this.#notes.filter(({ isChanged }) => isChanged);
    for (const note of changed) note.isChanged = false;
    return changed;
  }
}
