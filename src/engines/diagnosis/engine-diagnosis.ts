import type { LogRule } from './log-rule.js';

/** How the lines of an engine's logs are recognised and read. */
export interface EngineLogs {
  /** All kinds of its lines that are known. A line can be of several. */
  readonly rules: readonly LogRule[];
  /** The beginning of its lines, as text, that no other program's lines have. */
  readonly lineStart: RegExp;
  /** Whether a line of JSON is its own. Absent where it writes none. */
  isOwnRecord?(fields: Readonly<Record<string, unknown>>): boolean;
}

/** What the doctor needs to understand what an engine writes. */
export interface EngineDiagnosis {
  readonly logs: EngineLogs;
}
