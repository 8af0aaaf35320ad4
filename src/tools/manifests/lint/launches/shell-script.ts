import type { Word } from '../shell/words.js';
import { areOptions } from './programs.js';

const SHELLS: readonly string[] = ['sh', 'bash', 'dash', 'ash', 'zsh'];

/** The script of `sh -c SCRIPT`, whatever stands in front of the shell, or of `eval SCRIPT`. */
export function shellScript(words: readonly Word[]): Word | undefined {
  if (words[0]?.value === 'eval' && words.length === 2) return words[1];
  const at = words.findIndex(({ value }) => SHELLS.includes(value?.split('/').at(-1) ?? ''));
  if (at === -1 || at > 4) {
    return undefined;
  }
  const flag = words.findIndex(({ value }, index) => index > at && /^-[a-z]*c$/.test(value ?? ''));
  return flag === -1 || !areOptions(words.slice(at + 1, flag), ['-o', '+o', '-O', '+O'])
    ? undefined
    : words[flag + 1];
}
