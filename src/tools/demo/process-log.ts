import type { LogFields, Logger, LogLevel } from '../../edge/platform/logger.js';

/** One line of the log of a process in the demo. */
export interface ProcessLine {
  /** Who wrote it: `aggregator`, `sidecar worker-a`. */
  readonly from: string;
  readonly level: LogLevel;
  readonly message: string;
  /** What kind of line it is, where its writer says so: `routing_mode`. */
  readonly code?: string;
}

/** The logger that a part of the demo writes to; every line goes to `onLine`, at every level. */
export class ProcessLog implements Logger {
  readonly #from: string;
  readonly #onLine: (line: ProcessLine) => void;

  constructor(options: { readonly from: string }, modules: { readonly onLine: (line: ProcessLine) => void }) {
    this.#from = options.from;
    this.#onLine = modules.onLine;
  }

  error(fields: LogFields, message: string): void {
    this.#report('error', fields, message);
  }

  warn(fields: LogFields, message: string): void {
    this.#report('warn', fields, message);
  }

  info(fields: LogFields, message: string): void {
    this.#report('info', fields, message);
  }

  debug(fields: LogFields, message: string): void {
    this.#report('debug', fields, message);
  }

  /** The fields are for programs that read logs; people read the sentence. */
  child(_fields: LogFields): Logger {
    return this;
  }

  #report(level: LogLevel, { code }: LogFields, message: string): void {
    this.#onLine({ from: this.#from, level, message, ...(typeof code === 'string' ? { code } : {}) });
  }
}
