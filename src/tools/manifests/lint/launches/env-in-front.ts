import type { Word } from '../shell/words.js';

/** What the words in front of a program do to its variables. */
export interface EnvInFront {
  /** Those that are given; one that is taken away is empty. */
  readonly env: ReadonlyMap<string, Word>;
  /** Whether the program gets none of those that are there. */
  readonly isCleared: boolean;
  /** Whether it may get others, which are not seen. */
  readonly hasUnseen: boolean;
}

/** What starts a program with further variables. */
type Starter = 'env' | 'slurm' | 'mpi' | 'systemd';

const STARTERS: Readonly<Record<string, Starter>> = {
  env: 'env',
  sudo: 'env',
  srun: 'slurm',
  mpirun: 'mpi',
  mpiexec: 'mpi',
  orterun: 'mpi',
  prterun: 'mpi',
  'systemd-run': 'systemd',
};

const ASSIGNMENT = /^([A-Za-z_]\w*)=/;

/**
 * The variables that `env A=b`, `env -u A`, `env -i`, `srun --export=ALL,A=b`, `mpirun -x A=b` and their like in front of a
 * program give it, and those that they take away.
 */
export function envInFront(words: readonly Word[]): EnvInFront {
  const env = new Map<string, Word>();
  let isCleared = false;
  let hasUnseen = false;
  let starter: Starter | undefined;
  const give = (word: Word | undefined, from = 0): void => {
    const [assignment = '', name] = ASSIGNMENT.exec(word?.value?.slice(from) ?? '') ?? [];
    if (word !== undefined && name !== undefined) env.set(name, cutWord(word, from + assignment.length));
  };
  for (const [index, word] of words.entries()) {
    const text = word.value;
    const next = words[index + 1];
    const known = STARTERS[text?.split('/').at(-1) ?? ''];
    if (known !== undefined) {
      starter = known;
      continue;
    }
    if (starter === undefined) continue;
    if (text === undefined) {
      // `--export=ALL,A=$B` is known in part; options in a variable may be any.
      const name = /(?:^|[=,])([A-Za-z_]\w*)=$/.exec(word.known?.prefix ?? '')?.[1];
      if (name === undefined) hasUnseen = true;
      else env.set(name, { ...word, value: undefined });
      continue;
    }
    switch (starter) {
      case 'env': {
        const removed =
          /^(?:--unset=|-u)(.+)$/.exec(text)?.[1] ??
          (/^(?:-u|--unset)$/.test(text) ? next?.value : undefined);
        if (removed !== undefined) env.set(removed, { ...word, value: '' });
        if (/^(?:-i|-|--ignore-environment)$/.test(text)) isCleared = true;
        give(word);
        break;
      }
      case 'slurm': {
        const list = text.startsWith('--export=') ? cutWord(word, '--export='.length) : undefined;
        const exported = list ?? (text === '--export' ? next : undefined);
        if (/^--export-file\b/.test(text)) hasUnseen = true;
        if (exported === undefined) break;
        const entries = exported.value?.split(',') ?? [];
        // Without ALL a job has what its user's login gives it, and the variables that are named.
        if (!entries.includes('ALL')) {
          isCleared = true;
          hasUnseen = true;
        }
        let at = 0;
        for (const entry of entries) {
          give({ ...exported, value: exported.value?.slice(0, at + entry.length) }, at);
          at += entry.length + 1;
        }
        break;
      }
      case 'mpi':
        if (text === '-x') give(next);
        if (/^-g?env$/.test(text) && next?.value !== undefined && words[index + 2] !== undefined)
          env.set(next.value, words[index + 2] as Word);
        break;
      default:
        if (/^(?:-E|--setenv)$/.test(text)) give(next);
        if (text.startsWith('--setenv=')) give(word, '--setenv='.length);
    }
  }
  return { env, isCleared, hasUnseen };
}

/** The end of a word, in its place. */
function cutWord(word: Word, from: number): Word {
  const { span, value } = word;
  return {
    ...word,
    value: value?.slice(from),
    span:
      span.isExact && value !== undefined
        ? { ...span, start: span.start + from, end: span.start + value.length }
        : span,
  };
}
