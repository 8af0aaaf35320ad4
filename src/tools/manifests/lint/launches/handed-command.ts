import type { Word } from '../shell/words.js';

/** What a program hands on: a text that a shell reads, from a place in a word on, or a command in words of its own. */
export type HandedCommand<W> = {
  /** Whether it runs on another host or in another container, which has none of the script's variables. */
  readonly isElsewhere: boolean;
} & ({ readonly script: W; readonly from: number } | { readonly words: readonly W[] });

type Given = Pick<Word, 'value'>;

/** Programs that run a command on other hosts: their options that have a value of their own, and whether a host is named behind them. */
const REMOTE: Readonly<Record<string, { readonly valued: string; readonly hasHost: boolean }>> = {
  ssh: { valued: 'BbcDEeFIiJLlmOoPpQRSWw', hasHost: true },
  pdsh: { valued: 'wxglftuRM', hasHost: false },
  clush: { valued: 'wxgXlftuoOR', hasHost: false },
};

/** What may stand in front of a program: a word, and how many more belong to it. */
const WRAPPERS: Readonly<Record<string, number>> = {
  ...{ sudo: 0, exec: 0, nohup: 0, setsid: 0, time: 0, env: 0, timeout: 1 },
};

/** Subcommands of tmux that start a command, with their options that have a value. */
const TMUX: readonly (readonly [RegExp, string])[] = [
  [/^(?:new|new-session)$/, 'cefFnstxy'],
  [/^(?:neww|new-window|respawnw|respawn-window|respawnp|respawn-pane)$/, 'ceFnt'],
  [/^(?:splitw|split-window)$/, 'celpFt'],
];

/** Programs that hand the text behind `-c` to a shell. */
const WITH_TEXT: readonly string[] = ['su', 'runuser', 'script', 'flock'];

/** Words that are looked at, in front of what is handed on. */
const MAX_WORDS = 100;

/** What `ssh HOST COMMAND`, `tmux new-session COMMAND`, `su -c COMMAND` and their like run; undefined for any other command. */
export function handedCommand<W extends Given>(all: readonly W[]): HandedCommand<W> | undefined {
  const [name, words] = withoutWrappers(all.slice(0, MAX_WORDS));
  const remote = Object.hasOwn(REMOTE, name) ? REMOTE[name] : undefined;
  if (remote !== undefined) return remoteCommand(words, remote.valued, remote.hasHost);
  if (name === 'tmux') return ofTmux(words);
  if (WITH_TEXT.includes(name)) return behindFlag(words, /^(?:-[a-z]*c|--command)$/, false);
  if (name === 'gcloud' && words[0]?.value === 'compute' && words.some(({ value }) => value === 'ssh'))
    return behindFlag(words, /^--command(?==|$)/, true);
  if ((name === 'kubectl' || name === 'oc') && words.some(({ value }) => value === 'exec')) {
    const at = words.findIndex(({ value }) => value === '--');
    return at === -1 ? undefined : { words: words.slice(at + 1), isElsewhere: true };
  }
  return undefined;
}

/** Whether a command reads its script from its standard input: `bash`, `bash -s ARGS`, `ssh HOST`, `ssh HOST bash -s`. */
export function readsScript(words: readonly Given[]): boolean {
  const [name, rest] = withoutWrappers(words.slice(0, MAX_WORDS));
  if (/^(?:ba|da|a|z)?sh$/.test(name))
    return rest.every(({ value }) => /^-[a-zA-Z]*$/.test(value ?? '') && !/^-\w*c/.test(value ?? ''))
      ? true
      : /^-[a-z]*s[a-z]*$/.test(rest[0]?.value ?? '');
  if (name !== 'ssh') return false;
  const behind = behindOptions(rest, REMOTE['ssh']?.valued ?? '');
  const command = behindOptions(behind.slice(1), REMOTE['ssh']?.valued ?? '');
  const [first] = command;
  const all = command.length === 1 ? (first?.value ?? '').split(/\s+/).map((value) => ({ value })) : command;
  return behind.length > 0 && (first === undefined || readsScript(all));
}

function withoutWrappers<W extends Given>(words: readonly W[]): readonly [name: string, rest: readonly W[]] {
  let at = 0;
  for (;;) {
    const value = words[at]?.value ?? '';
    const name = value.split('/').at(-1) ?? '';
    if (/^\w+=/.test(value) || (at > 0 && value.startsWith('-'))) at += 1;
    else if (name === 'sshpass') at += 1 + (/^-[pfd]$/.test(words[at + 1]?.value ?? '') ? 2 : 1);
    else if (Object.hasOwn(WRAPPERS, name)) at += 1 + (WRAPPERS[name] ?? 0);
    else return [name, words.slice(at + 1)];
  }
}

/** Words behind options, of which those of `valued` take the next word where nothing stands behind their letter. */
function behindOptions<W extends Given>(words: readonly W[], valued: string): readonly W[] {
  let at = 0;
  for (; at < words.length; at += 1) {
    const value = words[at]?.value ?? '';
    if (value === '--') return words.slice(at + 1);
    if (!/^-[^-]/.test(value)) break;
    const letter = [...value].findIndex((one, index) => index > 0 && valued.includes(one));
    if (letter !== -1 && letter === value.length - 1) at += 1;
  }
  return words.slice(at);
}

/** One word is a text for the shell there; several are put together with blanks between them, which are words again. */
function handed<W extends Given>(words: readonly W[], isElsewhere: boolean): HandedCommand<W> | undefined {
  const [first, ...rest] = words;
  if (first === undefined) return undefined;
  return rest.length === 0 ? { script: first, from: 0, isElsewhere } : { words, isElsewhere };
}

function remoteCommand<W extends Given>(
  words: readonly W[],
  valued: string,
  hasHost: boolean,
): HandedCommand<W> | undefined {
  const behind = behindOptions(words, valued);
  return handed(hasHost ? behindOptions(behind.slice(1), valued) : behind, true);
}

function ofTmux<W extends Given>(words: readonly W[]): HandedCommand<W> | undefined {
  const [subcommand, ...rest] = behindOptions(words, 'cfLST');
  const name = subcommand?.value ?? '';
  const valued = TMUX.find(([pattern]) => pattern.test(name))?.[1];
  if (valued !== undefined) return handed(behindOptions(rest, valued), false);
  if (name !== 'send' && name !== 'send-keys') return undefined;
  // What is typed into a shell, and not the name of a key.
  const typed = behindOptions(rest, 'Nt').find(({ value }) => value?.trim().includes(' ') === true);
  return typed === undefined ? undefined : { script: typed, from: 0, isElsewhere: false };
}

function behindFlag<W extends Given>(
  words: readonly W[],
  flag: RegExp,
  isElsewhere: boolean,
): HandedCommand<W> | undefined {
  const at = words.findIndex(({ value }) => flag.test(value ?? ''));
  const word = words[at];
  if (word === undefined) return undefined;
  const equals = word.value?.indexOf('=') ?? -1;
  const script = equals === -1 ? words[at + 1] : word;
  return script === undefined ? undefined : { script, from: equals + 1, isElsewhere };
}
