import type { LogFindings } from './log-findings.js';
import type { LogLine } from './log-line.js';

/** What is known of one kind of line. */
export interface LogRule {
  /** A part of the message that only such lines have, never split by colours: ASCII, and the search is slower for all when it has less than 12 characters. */
  readonly needle: string;
  read(line: LogLine, found: LogFindings): void;
}
