import { commands } from '../../src/cli/commands.js';
import { runCli } from '../../src/cli/run.js';
import { systemClock } from '../../src/edge/platform/clock.js';
import { findPathProblem, readTextFile } from '../../src/edge/platform/files/file.js';
import { StoppedBySignal } from '../../src/edge/platform/processes/process-signals.js';
import { Changes } from './changes.js';
import { TextRecorder } from './text-recorder.js';

/** What a command writes, with a way to wait for it. */
class WatchedText extends TextRecorder {
  readonly changes: Changes = new Changes();

  override write(text: string): void {
    super.write(text);
    this.changes.notify();
  }

  /** Resolves as soon as the text is as asked. */
  until(holds: (text: string) => boolean): Promise<void> {
    return this.changes.until(() => holds(this.text));
  }
}

export interface CliTerminal {
  /** Whether all that it writes goes to a terminal. Default false. */
  readonly isTerminal?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  readonly environment?: Readonly<Record<string, string>>;
}

/** One run of the program inside the test's own process, on the machine's clock and real sockets. */
export class CliProcess {
  readonly stdout: WatchedText;
  readonly stderr: WatchedText;
  /** The lines of the log. */
  readonly log: WatchedText = new WatchedText();
  /** The exit code. */
  readonly ended: Promise<number>;
  /** Whether the command has left signals to itself. */
  hasTakenSignals = false;
  readonly #stop = new AbortController();

  constructor(argv: readonly string[], terminal: CliTerminal = {}) {
    this.stdout = new WatchedText(terminal);
    this.stderr = new WatchedText(terminal);
    this.ended = runCli(argv, {
      commands,
      clock: systemClock,
      environment: terminal.environment ?? {},
      stdout: this.stdout,
      stderr: this.stderr,
      signal: this.#stop.signal,
      takeOverSignals: () => {
        this.hasTakenSignals = true;
      },
      version: '1.2.3',
      logDestination: { write: (line) => this.log.write(line) },
      readTextFile,
      findPathProblem,
    });
  }

  /** Sends it a signal, and resolves with the exit code. */
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number> {
    this.#stop.abort(new StoppedBySignal(signal));
    return this.ended;
  }
}
