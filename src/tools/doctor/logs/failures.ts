import type { Origin } from '../sightings.js';
import { type ErrorKind, errorKindOf, isConsequence } from './general/error-kinds.js';

/** Lines between an error and the line that says that a program ended: tracebacks of all ranks. */
const NEAR_LINES = 300;
/** The same for an error of no known kind before that line: further away it is of something else. */
const NEXT_LINES = 60;
/** Errors that are kept until a program ends. */
const MAX_RECENT = 16;

interface FoundError {
  readonly lineNumber: number;
  readonly sentence: string;
  readonly kind: ErrorKind | undefined;
  /** A cause of its own names it. */
  readonly isNamed: boolean;
  readonly origin: Origin;
}

/** What ended a program, or would have. */
export interface Failure {
  /** Lines that say that a program ended; 0 when none did. */
  readonly ends: number;
  /** The first error, as one sentence; undefined where the log does not have it. */
  readonly sentence: string | undefined;
  readonly origin: Origin;
}

/**
 * Joins the lines that say that a program ended with the error that did it:
 * the first one of a known kind near them, else the first behind them, else the
 * last before them. A traceback and those of other ranks repeat the first error
 * in other words. Bounded, whatever the log has.
 */
export class FailureTally {
  #recent: FoundError[] = [];
  #root: FoundError | undefined;
  #before: FoundError | undefined;
  #known: FoundError | undefined;
  #firstEnd: Origin | undefined;
  #ends = 0;
  #lastEndLine = Number.NEGATIVE_INFINITY;
  #stopLine = Number.NEGATIVE_INFINITY;

  /** Somebody stopped the program: what ends soon after that ends for no fault. */
  addStop(lineNumber: number): void {
    if (this.#ends === 0) this.#stopLine = lineNumber;
  }

  addError(lineNumber: number, text: string, isNamed: boolean, originOf: () => Origin): void {
    const kind = errorKindOf(text);
    if ((kind === undefined || kind === 'internal') && !isNamed && isConsequence(text)) return;
    const isNear = lineNumber - this.#lastEndLine <= NEAR_LINES;
    const isKnown = kind !== undefined || isNamed;
    if (isNear && this.#root !== undefined && (isKnownError(this.#root) || !isKnown)) return;
    const found = { lineNumber, sentence: text, kind, isNamed, origin: originOf() };
    if (isNear) this.#root = found;
    if (isKnown) this.#known ??= found;
    if (this.#recent.length === MAX_RECENT) this.#recent.shift();
    this.#recent.push(found);
  }

  addEnd(lineNumber: number, originOf: () => Origin): void {
    if (lineNumber - this.#stopLine <= NEAR_LINES) return;
    this.#ends += 1;
    this.#firstEnd ??= originOf();
    this.#lastEndLine = lineNumber;
    if (this.#root !== undefined && isKnownError(this.#root)) return;
    const near = this.#recent.filter((error) => lineNumber - error.lineNumber <= NEAR_LINES);
    this.#root = near.find(isKnownError) ?? this.#root;
    const last = near.at(-1);
    if (last !== undefined && lineNumber - last.lineNumber <= NEXT_LINES) this.#before ??= last;
  }

  /** Undefined where no program ended and no error is of a kind that ends one, or where another cause names it. */
  finish(): Failure | undefined {
    const root = this.#ends > 0 ? (this.#root ?? this.#before) : this.#known;
    if (root?.isNamed === true) return undefined;
    const origin = root?.origin ?? this.#firstEnd;
    return origin === undefined ? undefined : { ends: this.#ends, sentence: root?.sentence, origin };
  }
}

function isKnownError({ kind, isNamed }: FoundError): boolean {
  return kind !== undefined || isNamed;
}
