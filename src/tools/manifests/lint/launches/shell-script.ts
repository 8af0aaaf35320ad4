import type { PlacedText } from '../../pod-site.js';
import { textOfWord, type Word } from '../shell/words.js';
import { type InnerText, locateScalar, scalarText, textOf } from '../text/scalar-text.js';
import type { TextSource } from '../text/span.js';
import { areOptions } from './programs.js';

const SHELLS: readonly string[] = ['sh', 'bash', 'dash', 'ash', 'zsh'];

/** Programs that start another one, with options of their own before it. */
const STARTERS: readonly string[] = [
  'srun',
  'kubectl',
  'oc',
  'ssh',
  'mpirun',
  'mpiexec',
  'docker',
  'podman',
  'nerdctl',
];

/** Words in front of a shell that are looked at: `sudo env A=b timeout 5 bash`, and the options of what starts one elsewhere. */
const MAX_WORDS_IN_FRONT = 4;
const MAX_OPTIONS = 60;

/** What only a shell takes: its container says the shell itself in its image alone, as `ENTRYPOINT ["bash"]`. */
const SHELL_OPTIONS = /^-[eilux]{1,5}c$/;

/** The script of `sh -c SCRIPT`, whatever stands in front of the shell, or of `eval SCRIPT`. */
export function shellScript<W extends Pick<Word, 'value'>>(words: readonly W[]): W | undefined {
  if (words[0]?.value === 'eval' && words.length === 2) return words[1];
  if (SHELL_OPTIONS.test(words[0]?.value ?? '')) return words[1];
  const at = words.findIndex(({ value }) => SHELLS.includes(value?.split('/').at(-1) ?? ''));
  const starter = words[0]?.value?.split('/').at(-1) ?? '';
  if (at === -1 || at > (STARTERS.includes(starter) ? MAX_OPTIONS : MAX_WORDS_IN_FRONT)) {
    return undefined;
  }
  const flag = words.findIndex(({ value }, index) => index > at && /^-[a-z]*c$/.test(value ?? ''));
  if (flag === -1 || !areOptions(words.slice(at + 1, flag), ['-o', '+o', '-O', '+O'])) return undefined;
  // Further options may stand before the script: `bash -c -- SCRIPT`.
  return words.slice(flag + 1).find(({ value }) => !/^-(?:-|[a-zA-Z]{1,8})$/.test(value ?? ''));
}

/** The file of `bash FILE`, or a script that is a command itself, and what it is given. */
export function scriptFile(
  words: readonly Word[],
): { readonly path: Word; readonly args: readonly Word[] } | undefined {
  const at = words.findIndex(({ value }) => !/^(?:exec|nohup|sudo|\w+=.*)$/.test(value ?? ''));
  const [first, ...others] = words.slice(Math.max(0, at));
  if (first === undefined) return undefined;
  if (!SHELLS.includes(first.value?.split('/').at(-1) ?? ''))
    return /\.(?:sh|bash)$/.test(first.value ?? '') ? { path: first, args: others } : undefined;
  const file = others.findIndex(({ value }) => !/^[-+]/.test(value ?? ''));
  const path = others[file];
  return path !== undefined && areOptions(others.slice(0, file), [])
    ? { path, args: others.slice(file + 1) }
    : undefined;
}

/** The text of a script in one argument: Kubernetes has put variables into it before its shell sees it. */
export function innerTextOf(
  source: TextSource,
  placed: PlacedText | undefined,
  word: Word,
): InnerText | undefined {
  if (placed === undefined) return undefined;
  if (word.value === placed.value) return scalarText(source, placed);
  const { span } = locateScalar(source, placed);
  return textOf({ value: textOfWord(word), span: { ...span, isExact: false } });
}

/** Whether a command starts another one on a node or in a container that it names. */
export function startsElsewhere(words: readonly Word[]): boolean {
  const first = words.find(({ value }) => !/^(?:sudo|exec|nohup|time|\w+=.*)$/.test(value ?? ''));
  return STARTERS.includes(first?.value?.split('/').at(-1) ?? '');
}
