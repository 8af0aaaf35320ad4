import type { LogFields, Logger, LogLevel } from '../../src/edge/platform/logger.js';

/** One line as it was logged. */
export interface RecordedLine {
  readonly level: LogLevel;
  readonly fields: LogFields;
  readonly message: string;
}

/** A logger that keeps every line, at every level, for tests to read. */
export class RecordingLogger implements Logger {
  /** Everything that this logger and its children logged, in order. */
  readonly lines: RecordedLine[];
  readonly #fields: LogFields;

  constructor(lines: RecordedLine[] = [], fields: LogFields = {}) {
    this.lines = lines;
    this.#fields = fields;
  }

  error(fields: LogFields, message: string): void {
    this.#record('error', fields, message);
  }

  warn(fields: LogFields, message: string): void {
    this.#record('warn', fields, message);
  }

  info(fields: LogFields, message: string): void {
    this.#record('info', fields, message);
  }

  debug(fields: LogFields, message: string): void {
    this.#record('debug', fields, message);
  }

  child(fields: LogFields): Logger {
    return new RecordingLogger(this.lines, { ...this.#fields, ...fields });
  }

  /** The sentences of one level, or of all. */
  messages(level?: LogLevel): string[] {
    return this.lines
      .filter((line) => level === undefined || line.level === level)
      .map((line) => line.message);
  }

  #record(level: LogLevel, fields: LogFields, message: string): void {
    this.lines.push({ level, fields: { ...this.#fields, ...fields }, message });
  }
}
