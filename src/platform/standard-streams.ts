import { isatty } from 'node:tty';

/** Where a command writes its text. */
export interface TextOutput {
  write(text: string): void;
  /** Whether a person reads along. */
  readonly isTerminal: boolean;
  /** Width of the terminal in characters; undefined when it is none. */
  readonly columns: number | undefined;
}

/** Standard output, for data. */
export const standardOutput: TextOutput = outputOf(process.stdout);

/** Standard error, for everything that is not data. */
export const standardError: TextOutput = outputOf(process.stderr);

/** Whether any of the three streams is a terminal, which then sends signals to the whole foreground group. */
export function hasTerminal(): boolean {
  // By number: to touch `process.stdin` would change how a pipe behaves that a child shares.
  return [0, 1, 2].some((fd) => isatty(fd));
}

function outputOf(stream: NodeJS.WriteStream): TextOutput {
  return {
    write: (text) => void stream.write(text),
    get isTerminal() {
      return stream.isTTY === true;
    },
    get columns() {
      return stream.columns;
    },
  };
}

/**
 * Ends the process quietly when the reader of standard output has gone, as in
 * `kv-accord status | head`: the next write would otherwise be an error.
 */
export function exitWhenReaderLeaves(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit();
      throw error;
    });
  }
}
