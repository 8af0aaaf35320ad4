import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import { MAX_EXCERPT_LINES } from './excerpt-lines.js';
import type { FailedPolls } from './lasting-polls.js';

/** Parts that are kept apart. */
const MAX_PARTS = 16;
/** Errors of one part in a log of any length: one alone may be of a single request. */
const LASTING = 3;

/** Errors of parts of a cache, of whose sentences no rule makes anything. */
export class FailingParts {
  readonly #parts = new Map<string, Omit<FailedPolls, 'count'> & { count: number }>();

  add(line: LogLine, text: string, value: string): void {
    const part = this.#parts.get(value);
    if (part !== undefined) part.count += 1;
    else if (this.#parts.size < MAX_PARTS)
      this.#parts.set(value, { fault: { signal: 'offload_failed', value }, line, text, count: 1 });
  }

  /** Those that are no matter of one request, in a log of so many lines. */
  finish(lines: number): readonly FailedPolls[] {
    return [...this.#parts.values()].filter(({ count }) => count >= LASTING || lines <= MAX_EXCERPT_LINES);
  }
}
