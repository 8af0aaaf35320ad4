import type { SettingError } from '../app/setting-error.js';
import type { Clock } from '../edge/platform/clock.js';
import type { Logger } from '../edge/platform/logger.js';
import type { Environment } from '../edge/platform/processes/environment.js';
import type { TextOutput } from '../edge/platform/streams/standard-streams.js';
import type { OpenKeys } from '../edge/platform/streams/terminal-keys.js';
import type { commonSettings } from './settings/common-settings.js';
import type { SettingsOf, SettingsTable } from './settings/setting.js';

/** A command's own settings together with those that every command has. */
export type WithCommon<Table extends SettingsTable> = Table & typeof commonSettings;

/** What a command is given to work with. */
export interface CommandContext<Table extends SettingsTable> {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborts once, when the process is asked to end; the reason is a `StoppedBySignal`. */
  readonly signal: AbortSignal;
  /**
   * Leaves signals to the command: `signal` will not abort any more, and a
   * second signal does not end the process. For `exec`, whose program gets them.
   */
  takeOverSignals(): void;
  /** For data: what a person or a program asked for. */
  readonly stdout: TextOutput;
  /** For everything else that is not a line of the log. */
  readonly stderr: TextOutput;
  /** Reads the keys of a person at the terminal. */
  readonly openKeys: OpenKeys;
  readonly environment: Environment;
  /** Whether a person sees standard error: live lines, colours. */
  readonly isTerminal: boolean;
  /** What stood on the command line beside the flags; for `exec` the program and its arguments. */
  readonly operands: readonly string[];
  /** The product's version. */
  readonly version: string;
  /**
   * The error for a value that turned out wrong only now, in the frame's own
   * words: throw it before anything is started, and the process ends with one
   * line and code 2. `allowed` follows "must be"; `value` is the wrong part
   * where it is not the whole value.
   */
  reject(name: keyof WithCommon<Table> & string, allowed: string, value?: string): SettingError;
}

/**
 * What one command does. Resolves with the process's exit code (`exit-codes.ts`)
 * when everything that it started has ended. An error that it throws is printed in
 * one line and ends the process with code 1, a `SettingError` with code 2.
 */
export type CommandBody<Table extends SettingsTable> = (
  settings: SettingsOf<WithCommon<Table>>,
  context: CommandContext<Table>,
) => Promise<number>;

/** One line of `--help` under "Examples". */
export interface Example {
  readonly says: string;
  readonly line: string;
}

/** What a command takes beside its flags. */
export interface Operands {
  /** As in `--help`: `[HOST:PORT]`, `<CMD...>`. */
  readonly syntax: string;
  readonly help: string;
  /** True when everything from the first operand on belongs to another program. */
  readonly passesThrough?: boolean;
}

/** What a command is, without its body: enough for help, completion and the reading of settings. */
export interface CommandDescription<Table extends SettingsTable> {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** The first paragraph of the command's own help. */
  readonly description: string;
  readonly operands?: Operands;
  readonly settings: Table;
  /** Runs until it is asked to end, and is not there for what it prints. Default false. */
  readonly isServer?: true;
  readonly examples: readonly Example[];
  /**
   * Common settings that it takes and does not read. It takes them for the sake of environments and files that commands
   * share; its help leaves them out.
   */
  readonly unread?: readonly (keyof typeof commonSettings)[];
  /**
   * Looks at values that are right by themselves and wrong together. Throws what `reject` makes. `flags`: the names of
   * those on the command line, for what may stand in an environment that several commands share.
   */
  check?(
    settings: SettingsOf<WithCommon<Table>>,
    reject: CommandContext<Table>['reject'],
    flags: ReadonlySet<string>,
  ): void;
}

/** A command as the program lists it; its types have done their work. */
export interface Command {
  readonly description: CommandDescription<SettingsTable>;
  /** Loads the module with the body, and only then all that it needs. */
  load(): Promise<CommandBody<SettingsTable>>;
}

/** Joins a description and its body; their settings must be the same. */
export function defineCommand<Table extends SettingsTable>(
  description: CommandDescription<Table>,
  load: () => Promise<CommandBody<Table>>,
): Command {
  return { description, load } as unknown as Command;
}
