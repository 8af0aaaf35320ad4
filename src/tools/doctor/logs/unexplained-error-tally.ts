import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import type { Origin } from '../sightings.js';
import type { UnexplainedErrors } from './log-summary.js';

/** Kinds of lines that are kept apart. */
const MAX_KINDS = 64;
/** Lines that are looked at: a log of nothing else says no more after these. */
const MAX_LINES = 5_000;
const MAX_SHAPE_CHARS = 160;
/** Lines between an error and what it is the reason of. */
const NEAR_LINES = 6;

/** Counts the lines at error level of which no rule made anything. Bounded, whatever the log has. */
export class UnexplainedErrorTally {
  readonly #kinds = new Map<string, { count: number; readonly origin: Origin }>();
  #count = 0;
  #first: Origin | undefined;
  #last: { readonly line: LogLine; readonly originOf: () => Origin } | undefined;

  /** Whether further lines would still be counted. */
  get isOpen(): boolean {
    return this.#count < MAX_LINES;
  }

  /** `text` is the whole of it, which may stand in several lines. */
  add(line: LogLine, text: string, originOf: () => Origin): void {
    this.#count += 1;
    this.#last = { line, originOf };
    const shape = shapeOf(text);
    const kind = this.#kinds.get(shape);
    if (kind !== undefined) {
      kind.count += 1;
      return;
    }
    if (this.#kinds.size === MAX_KINDS) return;
    const origin = originOf();
    this.#first ??= origin;
    this.#kinds.set(shape, { count: 1, origin });
  }

  /** The error right before a line, of the same process. */
  before({ lineNumber, who }: LogLine): Origin | undefined {
    const last = this.#last;
    if (last === undefined || last.line.who !== who) return undefined;
    return lineNumber - last.line.lineNumber <= NEAR_LINES ? last.originOf() : undefined;
  }

  finish(): UnexplainedErrors | undefined {
    if (this.#first === undefined) return undefined;
    const most = [...this.#kinds.values()].reduce((best, kind) => (kind.count > best.count ? kind : best));
    return { count: this.#count, isMore: !this.isOpen, first: this.#first, most };
  }
}

/** A line without the numbers that differ from one to the next: times, ids, addresses. */
function shapeOf(text: string): string {
  return text
    .slice(0, 2 * MAX_SHAPE_CHARS)
    .replace(/[\da-f]*\d[\da-f]*/gi, '0')
    .slice(0, MAX_SHAPE_CHARS);
}
