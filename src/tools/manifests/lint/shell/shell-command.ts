import type { InnerText } from '../text/scalar-text.js';
import type { Word } from './words.js';
import type { WrittenFiles } from './written-files.js';

/** A command of a script, with the variables that it is given beside those of its process. */
export interface ShellCommand {
  readonly words: readonly Word[];
  readonly env: ReadonlyMap<string, Word>;
  /** The branches of `if` and `case`, or behind a test, in which it stands, from the outermost; empty for what runs in any case. */
  readonly branch: readonly string[];
  /** Whether its shell may hand on variables that are not seen here. */
  readonly hasUnseenEnv: boolean;
  /** The files that the script has written before it. */
  readonly files: WrittenFiles;
  /** The folder that it runs in, from where the script began. */
  readonly folder: string;
  /** The here-document that it reads, its own or one that is passed on to it. */
  readonly input: InnerText | undefined;
  /** Its place among the commands that have run, and those that had ended when it began. */
  readonly number: number;
  readonly ended: ReadonlySet<number>;
}

/** What the reading of a script may look up. */
export interface ShellLibrary {
  /** A file that the script reads into itself. */
  readonly fileAt?: (path: string) => InnerText | undefined;
  /** What the script is started with, where that is seen. */
  readonly args?: readonly Word[] | undefined;
}
