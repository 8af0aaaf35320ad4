import type { ShellCommand } from '../shell/shell-command.js';
import type { Word } from '../shell/words.js';
import { type InnerText, partOf } from '../text/scalar-text.js';
import { handedCommand, readsScript } from './handed-command.js';
import type { Launch } from './launch.js';
import type { Surroundings } from './surroundings.js';

/** How commands and scripts are read that another command hands on. */
export interface Readers {
  readonly command: (words: readonly Word[], surroundings: Surroundings) => readonly Launch[];
  readonly script: (script: InnerText, surroundings: Surroundings) => readonly Launch[];
  readonly innerText: (word: Word) => InnerText | undefined;
}

/** The programs that `ssh HOST COMMAND`, `tmux new-session COMMAND` and their like start. */
export function handedLaunches(
  words: readonly Word[],
  surroundings: Surroundings,
  { command, script, innerText }: Readers,
): readonly Launch[] {
  const handed = handedCommand(words);
  if (handed === undefined) return [];
  const there = handed.isElsewhere ? elsewhere(surroundings) : surroundings;
  if ('words' in handed) return command(handed.words, there);
  const text = innerText(handed.script);
  return text === undefined ? [] : script(partOf(text, handed.from, text.value.length), there);
}

/** The script that a shell reads from a here-document, and where it runs: `bash <<EOF`, `ssh HOST <<EOF`. */
export function scriptOfInput(
  { words, input }: ShellCommand,
  surroundings: Surroundings,
): { readonly script: InnerText; readonly around: Surroundings } | undefined {
  if (input === undefined || !readsScript(words)) return undefined;
  const isHere = !words.some(({ value }) => /(?:^|\/)ssh$/.test(value ?? ''));
  return { script: input, around: isHere ? surroundings : elsewhere(surroundings) };
}

/** On another host, or in another container, a command has variables that are not seen here. */
function elsewhere(surroundings: Surroundings): Surroundings {
  return { ...surroundings, network: {}, env: new Map(), hasUnseenEnv: true };
}
