import type { LogFindings } from '../../../engines/diagnosis/log-findings.js';
import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import { crashText } from './crash-text.js';
import { faultOfTraceback } from './general/traceback-faults.js';
import { isLastLine, placeOf, type Traceback, TracebackReader } from './traceback-reader.js';

interface Reason {
  readonly who: string;
  readonly lineNumber: number;
  readonly sentence: string;
}

/** Lines between the sentence of an error and the first frame of its traceback that counts. */
const NEAR_LINES = 24;
/** Lines behind the last one of a traceback in which a program may still say what it did about it. */
const MAX_LINES_BEHIND = 4;

/** Tracebacks through files that move or keep KV blocks: classed by their last line, else kept as crashes with it. */
export class CrashTally {
  readonly #found: LogFindings;
  readonly #reader = new TracebackReader();
  /** The first that the log does not have to its end: it counts where there is no whole one. */
  #cut: Traceback | undefined;
  #hasWhole = false;
  #reason: Reason | undefined;
  /** The last exception by its name. */
  #exception: Reason | undefined;
  /** The exception of the last traceback that the log has to its end. */
  #ended: Reason | undefined;

  constructor(found: LogFindings) {
    this.#found = found;
  }

  get isOpen(): boolean {
    return this.#reader.isOpen;
  }

  addFrame(line: LogLine, isOfCache?: boolean): void {
    this.#reader.add(line, isOfCache);
  }

  follow(line: LogLine): void {
    const traceback = this.#reader.follow(line);
    if (traceback !== undefined) this.#add(traceback, line);
  }

  /** What an error says of itself in the line above its traceback. */
  addReason({ who, lineNumber }: LogLine, sentence: string): void {
    this.#reason = { who, lineNumber, sentence };
  }

  /** The first line of a traceback whose exception stands in its last one: one above it is of something else. */
  begin(): void {
    this.#exception = undefined;
  }

  /** An error in a line of its own: some programs write the exception above the places that it went through, and not below them. */
  addError({ who, lineNumber }: LogLine, text: string): void {
    const sentence = text.trim();
    if (isLastLine(sentence)) this.#exception = { who, lineNumber, sentence };
  }

  /** The exception of a traceback that ended a few lines above. */
  exceptionBefore({ who, lineNumber }: LogLine): string {
    const ended = this.#ended;
    if (ended === undefined || ended.who !== who) return '';
    return lineNumber - ended.lineNumber <= MAX_LINES_BEHIND ? ended.sentence : '';
  }

  finish(): void {
    const open = this.#reader.end();
    if (open !== undefined) this.#add(open, open.first);
    if (this.#cut !== undefined && !this.#hasWhole) this.#addCrash(this.#cut);
  }

  #add(read: Traceback, last: LogLine): void {
    const traceback = { ...read, sentence: read.sentence ?? (near(this.#exception, read) || undefined) };
    if (traceback.sentence !== undefined)
      this.#ended = { who: last.who, lineNumber: last.lineNumber, sentence: sentenceOf(traceback) };
    if (this.#found.isKnown(last)) {
      this.#hasWhole = true;
      return;
    }
    const fault = faultOfTraceback(traceback);
    const { first, sentence } = traceback;
    if (fault === undefined && placeOf(traceback) === undefined) return;
    if (fault !== undefined) {
      const isOfLast = sentence?.includes(fault.value.slice(0, 30)) === true;
      this.#found.addSignal(fault.signal, isOfLast ? last : first, { value: fault.value, about: 'File "' });
    } else if (sentence === undefined) {
      this.#cut ??= traceback;
      return;
    } else this.#addCrash(traceback);
    this.#hasWhole = true;
    if (sentence !== undefined)
      this.#found.addError(last, { sentence, about: sentence.slice(0, 60), isNamed: fault !== undefined });
  }

  #addCrash(traceback: Traceback): void {
    const frame = placeOf(traceback);
    if (frame === undefined) return;
    const { path, place } = frame;
    this.#found.addSignal('connector_crashed', traceback.first, {
      value: crashText({ path, place, sentence: sentenceOf(traceback) || near(this.#reason, traceback) }),
      about: 'File "',
    });
  }
}

/** The sentence of an error right above a traceback; empty where it is of another time. */
function near(reason: Reason | undefined, { first }: Traceback): string {
  if (reason === undefined || reason.who !== first.who) return '';
  const lines = first.lineNumber - reason.lineNumber;
  return lines >= 0 && lines <= NEAR_LINES ? reason.sentence : '';
}

/** The last line; of an assertion without words, what it asserts. */
function sentenceOf(traceback: Traceback): string {
  const { frames, sentence = '' } = traceback;
  const source = frames.at(-1)?.source ?? '';
  return /^[\w.]*AssertionError$/.test(sentence) && source.startsWith('assert')
    ? `${sentence}: ${source}`
    : sentence;
}
