import type { EnginePart } from '../../../engines/diagnosis/log-findings.js';
import type { Origin } from '../sightings.js';
import { ByProgram } from './by-program.js';
import { type ErrorKind, errorKindOf, isConsequence } from './general/error-kinds.js';

/** Lines between an error and the line that says that a program ended: tracebacks of all ranks. */
const NEAR_LINES = 300;
/** The same for an error of no known kind before that line: further away it is of something else. */
const NEXT_LINES = 60;
/** The longest traceback from the start of a program to the exception that it ends by. */
const TRACEBACK_LINES = 240;
/** Errors that are kept until a program ends. */
const MAX_RECENT = 16;
/** Lines between the innermost frame of a part of an engine and the exception below it. */
const PART_LINES = 24;
/** Parts of one traceback that are kept. */
const MAX_PARTS = 4;
/** Lines behind the last error of a log that go on with its message. */
const TAIL_LINES = 12;

interface FoundError {
  readonly lineNumber: number;
  readonly sentence: string;
  readonly kind: ErrorKind | undefined;
  /** A cause of its own names it. */
  readonly isNamed: boolean;
  readonly parts: readonly EnginePart[];
  readonly origin: Origin;
}

/** An exception by its name; other sentences are written of parts that are optional, too. */
const EXCEPTION = /^(?:[\w.]{0,120}(?:Error|Exception|gaierror)\b|Value error, )/;

/** What pydantic writes above the fields that it does not take. */
const HEADING = /\b\d+ validation errors? for \w+\s*$/;

/** Kinds that a sentence may be of which only passes on that something else failed. */
const PASSED_ON: readonly (ErrorKind | undefined)[] = [undefined, 'internal', 'worker_lost'];

/** What ended a program, or would have. */
export interface Failure {
  /** The pod or worker that a prefix of its lines names; empty without one. */
  readonly who: string;
  /** Lines that say that a program ended; 0 when none did. */
  readonly ends: number;
  /** Whether it is an exception that the log ends with: nothing shows that the program lived on. */
  readonly isLast: boolean;
  /** The first error, as one sentence; undefined where the log does not have it. */
  readonly sentence: string | undefined;
  /** Parts of the engine that its traceback goes through, the innermost first. */
  readonly parts: readonly EnginePart[];
  readonly origin: Origin;
}

/** What ended the programs of one log: each by its own lines. */
export class Failures {
  readonly #programs = new ByProgram(() => new FailureTally());

  of(who: string): FailureTally {
    return this.#programs.of(who);
  }

  /** `lines` are those of the whole log. */
  finish(lines: number): readonly Failure[] {
    return [...this.#programs.entries()].flatMap(([who, tally]) => {
      const ended = tally.finish(lines);
      return ended === undefined ? [] : [{ who, ...ended }];
    });
  }
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
  #last: FoundError | undefined;
  #firstEnd: Origin | undefined;
  #ends = 0;
  #lastEndLine = Number.NEGATIVE_INFINITY;
  #stopLine = Number.NEGATIVE_INFINITY;
  #entryLine = Number.NEGATIVE_INFINITY;
  #parts: readonly EnginePart[] = [];
  #partLine = Number.NEGATIVE_INFINITY;

  /** A traceback goes up to where the program starts: the exception below it is caught by nobody. Undefined takes that back. */
  addEntry(lineNumber: number = Number.NEGATIVE_INFINITY): void {
    this.#entryLine = lineNumber;
  }

  /** Whether the next exception is that of such a traceback. */
  isBelowEntry(lineNumber: number): boolean {
    return lineNumber - this.#entryLine <= TRACEBACK_LINES;
  }

  /** A frame within a part of an engine: the last one before an exception is where it comes from. */
  addPart(lineNumber: number, part: EnginePart): void {
    const isSame = (one: EnginePart): boolean => one.part === part.part && one.name === part.name;
    const others = this.isBelowPart(lineNumber) ? this.#parts.filter((one) => !isSame(one)) : [];
    this.#parts = [part, ...others].slice(0, MAX_PARTS);
    this.#partLine = lineNumber;
  }

  /** Whether the next exception is that of a traceback through such a part. */
  isBelowPart(lineNumber: number): boolean {
    return lineNumber - this.#partLine <= PART_LINES;
  }

  /** Whether the program has just ended, and no reason was read yet. */
  lacksReason(lineNumber: number): boolean {
    return this.#ends > 0 && this.#root === undefined && lineNumber - this.#lastEndLine <= NEAR_LINES;
  }

  /** Somebody stopped the program: what ends soon after that ends for no fault. */
  addStop(lineNumber: number): void {
    this.addEntry();
    if (this.#ends === 0) this.#stopLine = lineNumber;
  }

  addError(lineNumber: number, text: string, isNamed: boolean, originOf: () => Origin): void {
    const kind = errorKindOf(text);
    if (PASSED_ON.includes(kind) && !isNamed && isConsequence(text)) return;
    const isLast = this.isBelowEntry(lineNumber);
    this.#keep({ lineNumber, sentence: text, kind, isNamed }, originOf);
    if (!isLast) return;
    this.addEntry();
    // The exception of the first traceback that nobody caught is the reason, whatever stood above it.
    const isFirst = this.#ends === 0;
    this.addEnd(lineNumber, originOf);
    if (isFirst && this.#ends > 0)
      this.#root = {
        lineNumber,
        sentence: text,
        kind,
        isNamed,
        parts: this.#partsAt(lineNumber),
        origin: originOf(),
      };
  }

  #keep(error: Omit<FoundError, 'origin' | 'parts'>, originOf: () => Origin): void {
    const { lineNumber, kind, isNamed } = error;
    const isNear = lineNumber - this.#lastEndLine <= NEAR_LINES;
    const isKnown = kind !== undefined || isNamed;
    const isTold = this.#root !== undefined && (isKnownError(this.#root) || isLoss(this.#root));
    const isHeading =
      this.#root !== undefined &&
      HEADING.test(this.#root.sentence) &&
      lineNumber - this.#root.lineNumber <= 3;
    if (isNear && !isHeading && this.#root !== undefined && (isTold || !isKnown)) return;
    const found = { ...error, parts: this.#partsAt(lineNumber), origin: originOf() };
    if (isNear) this.#root = found;
    this.#last = found;
    // What fails behind a stop is of the stop: a program that goes on has none.
    if (isKnown && lineNumber - this.#stopLine > NEAR_LINES) this.#known ??= found;
    if (this.#recent.length === MAX_RECENT) this.#recent.shift();
    this.#recent.push(found);
  }

  #partsAt(lineNumber: number): readonly EnginePart[] {
    return this.isBelowPart(lineNumber) ? this.#parts : [];
  }

  addEnd(lineNumber: number, originOf: () => Origin): void {
    if (lineNumber - this.#stopLine <= NEAR_LINES) return;
    this.#ends += 1;
    this.#firstEnd ??= originOf();
    this.#lastEndLine = lineNumber;
    if (this.#root !== undefined && isKnownError(this.#root)) return;
    const near = this.#recent.filter((error) => lineNumber - error.lineNumber <= NEAR_LINES);
    const next = near.findLast((error) => !isLoss(error) && lineNumber - error.lineNumber <= NEXT_LINES);
    this.#root = near.find(isKnownError) ?? this.#root;
    // That a process is gone says why only where nothing else does.
    if (next === undefined) this.#root ??= near.find(isLoss);
    else this.#before ??= next;
  }

  /** Undefined where no program ended and no error is of a kind that ends one, or where another cause names it. */
  finish(lines: number): Omit<Failure, 'who'> | undefined {
    const root = this.#ends > 0 ? (this.#root ?? this.#before) : this.#known;
    if (root?.isNamed === true) return undefined;
    const origin = root?.origin ?? this.#firstEnd;
    if (origin === undefined) return undefined;
    const isLast =
      root !== undefined &&
      root.lineNumber === this.#last?.lineNumber &&
      EXCEPTION.test(root.sentence) &&
      lines - root.lineNumber <= TAIL_LINES;
    return { ends: this.#ends, isLast, sentence: root?.sentence, parts: root?.parts ?? [], origin };
  }
}

function isKnownError({ kind, isNamed }: FoundError): boolean {
  return isNamed || (kind !== undefined && kind !== 'worker_lost');
}

/** An error of a process that is gone, without its reason. */
function isLoss({ kind, isNamed }: FoundError): boolean {
  return kind === 'worker_lost' && !isNamed;
}
