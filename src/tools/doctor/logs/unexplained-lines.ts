import type { LogFindings } from '../../../engines/diagnosis/log-findings.js';
import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import type { Origin } from '../sightings.js';
import { FailingParts } from './failing-parts.js';
import { failingCacheIn } from './general/failing-caches.js';
import type { Fault } from './general/fault-classes.js';
import { refusedClass, refusedPart } from './general/parser-errors.js';
import { refusedConfiguration } from './general/refused-settings.js';
import { demandIn } from './general/setting-demands.js';
import { unreachedPeerIn } from './general/unreached-peers.js';
import { lastWords } from './last-words.js';
import { LastingPolls } from './lasting-polls.js';
import type { UnexplainedErrors } from './log-summary.js';
import { messageOf, SpreadErrors } from './spread-errors.js';
import { UnexplainedErrorTally } from './unexplained-error-tally.js';

/** What is made of a line is for the tally of its log. */
interface Target {
  /** `found` counts what rules found so far: a line that adds nothing was not understood. */
  readonly tally: Pick<LogFindings, 'addError' | 'addEnd' | 'isKnown'> & { found: number };
  /** The fault of a whole message. */
  readonly onFault: (line: LogLine, fault: Fault, text: string, count: number) => void;
  /** Whether a rule makes something of a line with another text. */
  readonly isKnown: (line: LogLine, text: string) => boolean;
  readonly originOf: (line: Pick<LogLine, 'lineNumber' | 'text'>) => Origin;
}

/**
 * Lines at error level of which no rule makes anything, each with the lines below it in which its message goes on. Of a
 * whole message it is looked again whether it is the last of a program or a setting that is refused; all others are quoted.
 */
export class UnexplainedLines {
  readonly #target: Target;
  readonly #errors = new UnexplainedErrorTally();
  readonly #spread = new SpreadErrors({
    onError: (line, text, goesOn) => this.#addWhole(line, text, goesOn),
    onHeading: (line) => {
      this.#heading = { line, found: this.#target.tally.found };
    },
    isKnown: (line, text) => this.#target.isKnown(line, text),
  });
  /** The last error above a traceback: where the log ends within that, nothing else says what happened. */
  #heading: { readonly line: LogLine; readonly found: number } | undefined;
  /** Of programs that are not reached. */
  readonly #polls = new LastingPolls();
  readonly #parts = new FailingParts();
  /** The log has no line behind the next message. */
  #isAtEnd = false;
  /** What was found until a part of a message was read; -1 for none. */
  #foundWithPart = -1;

  constructor(target: Target) {
    this.#target = target;
  }

  /** Whether further lines would still be counted. */
  get isCounting(): boolean {
    return this.#errors.isOpen;
  }

  /** Whether the next line may belong to a message. */
  get isOpen(): boolean {
    return this.#spread.isOpen;
  }

  add(line: LogLine): void {
    this.#leaveToRules();
    this.#spread.add(line);
  }

  /** The line after it, whatever it is. */
  follow(line: LogLine): void {
    this.#leaveToRules();
    if (!this.#spread.follow(line)) return;
    this.#target.tally.found += 1;
    if (this.#target.tally.isKnown(line)) this.#spread.drop();
    else this.#foundWithPart = this.#target.tally.found;
  }

  /** The error right before a line, of the same process. */
  before(line: LogLine): Origin | undefined {
    return this.#errors.before(line);
  }

  /** At the end of a log of so many lines; undefined where every line at error level was understood. */
  finish(lines: number): UnexplainedErrors | undefined {
    this.#leaveToRules();
    this.#isAtEnd = true;
    this.#spread.finish();
    const heading = this.#heading;
    if (heading?.found === this.#target.tally.found) this.#addWhole(heading.line, heading.line.text);
    for (const { line, fault, text, count } of [...this.#polls.finish(lines), ...this.#parts.finish(lines)])
      this.#target.onFault(line, fault, text, count);
    return this.#errors.finish();
  }

  /** An error of whose message rules made something is theirs. */
  #leaveToRules(): void {
    if (this.#foundWithPart !== -1 && this.#target.tally.found > this.#foundWithPart) this.#spread.drop();
    this.#foundWithPart = -1;
  }

  /** A program ends with this error. */
  #addLast(line: LogLine, sentence: string, about: string): void {
    this.#target.tally.addError(line, { sentence, about });
    this.#target.tally.addEnd(line, about);
  }

  /** Whether a program is not reached, more often than one is that still starts. */
  #isUnreached(line: LogLine, text: string): boolean {
    const { fault, atLeast } = unreachedPeerIn(messageOf(line, text)) ?? {};
    if (fault === undefined || atLeast === undefined) return false;
    if (atLeast > 1) return this.#polls.add(line, text, fault, atLeast);
    this.#target.onFault(line, fault, text, 1);
    return true;
  }

  #addWhole(line: LogLine, text: string, goesOn = false): void {
    this.#heading = undefined;
    const last = lastWords(text);
    if (last !== undefined) {
      this.#addLast(line, last, 'Error: ');
      return;
    }
    const value =
      refusedPart(text) ?? refusedConfiguration(text) ?? refusedClass(text) ?? demandOf(line, text);
    if (value !== undefined) this.#target.onFault(line, { signal: 'settings_refused', value }, text, 1);
    else if (isFatal(line)) this.#addLast(line, messageOf(line, text), '');
    else if (this.#isAtEnd && !goesOn && /^\s{0,8}Error: \S/.test(text))
      this.#addLast(line, text.trim(), 'Error: ');
    else if (!this.#isUnreached(line, text)) {
      const failing = failingCacheIn(text);
      if (failing !== undefined) this.#parts.add(line, text, failing);
      this.#errors.add(line, text, () => this.#target.originOf({ lineNumber: line.lineNumber, text }));
    }
  }
}

/** What a line of Rust ends with: "worker_id=758 dp_rank=0 reset_scope=Domain". One pair alone may be a setting with its value. */
const FIELDS_AT_END = /(?: [a-z][\w.]{0,40}=(?:"[^"]{0,200}"|[^\s"]{1,120})){2,20}$/;

/** What an error demands of settings. What a controller cannot reconcile it tries again, and fields of a line are no settings. */
function demandOf(line: LogLine, text: string): string | undefined {
  if (line.fields?.['controller'] !== undefined) return undefined;
  return demandIn(messageOf(line, text).replace(FIELDS_AT_END, ''));
}

/** "F0303 10:00:00.175809 1 main.go:87] …" of klog and glog, and a level of JSON, with which a program ends itself. A check of C++ may be thrown and caught (TVM, XGBoost). */
function isFatal({ text, fields }: LogLine): boolean {
  return fields === undefined
    ? /^F\d{4}(?:\d{4})? \d\d:\d\d:\d\d.{1,60}\b[\w-]{1,60}\.(?:go|cpp|cc|h):\d{1,6}\] (?!Check failed: )/.test(
        text,
      )
    : fields['level'] === 'fatal';
}
