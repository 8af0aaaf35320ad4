import type { Word } from '../shell/shell-commands.js';
import type { Span } from '../text/span.js';
import type { Launch } from './launch.js';

/** A setting of a process, where it is written. */
export interface SettingValue {
  /** Undefined when the manifest does not have it. */
  readonly value: string | undefined;
  readonly span: Span;
  readonly how: 'flag' | 'variable' | 'engine-yaml';
  /** As it is written: `--block-size`, `DYN_KV_CACHE_BLOCK_SIZE`, `tokens_per_block`. */
  readonly name: string;
}

/** A flag with its value; undefined when the process does not have it. The last one wins, as in argparse. */
export function flagOf(launch: Launch, ...names: readonly string[]): SettingValue | undefined {
  const { args } = launch;
  let found: SettingValue | undefined;
  args.forEach((word, index) => {
    const { name, rest } = splitFlag(word);
    if (name === undefined || !names.includes(name)) {
      return;
    }
    if (rest !== undefined) {
      found = { value: rest.value, span: rest.span, how: 'flag', name };
      return;
    }
    const next = args[index + 1];
    found = { value: next?.value, span: next?.span ?? word.span, how: 'flag', name };
  });
  return found;
}

/** A flag without a value: true for the last of its forms that says yes, false for one that says no. */
export function switchOf(
  launch: Launch,
  on: readonly string[],
  off: readonly string[],
): { readonly isOn: boolean; readonly name: string; readonly span: Span } | undefined {
  let found: { isOn: boolean; name: string; span: Span } | undefined;
  for (const word of launch.args) {
    const { name } = splitFlag(word);
    if (name !== undefined && (on.includes(name) || off.includes(name))) {
      found = { isOn: on.includes(name), name, span: word.span };
    }
  }
  return found;
}

/** A variable; an empty one is absent, as for Dynamo's own parser. */
export function variableOf(launch: Launch, ...names: readonly string[]): SettingValue | undefined {
  for (const name of names) {
    const word = launch.env.get(name);
    if (word !== undefined && word.value !== '') {
      return { value: word.value, span: word.span, how: 'variable', name };
    }
  }
  return undefined;
}

/** What a program uses: its flag, else its variable. */
export function settingOf(
  launch: Launch,
  flags: readonly string[],
  variables: readonly string[],
): SettingValue | undefined {
  return flagOf(launch, ...flags) ?? variableOf(launch, ...variables);
}

/** Whether a setting that was not found may still be there. */
export function mayBeUnseen({ hasUnseenArgs, hasUnseenEnv }: Launch): boolean {
  return hasUnseenArgs || hasUnseenEnv;
}

/** A whole number above zero that a setting says. */
export function numberOf(setting: SettingValue | undefined): number | undefined {
  const text = setting?.value?.trim() ?? '';
  return /^\d{1,9}$/.test(text) && Number(text) > 0 ? Number(text) : undefined;
}

/** What Python and Dynamo take for no. */
export function isFalse(text: string | undefined): boolean {
  return ['false', '0', 'no', 'off'].includes(text?.trim().toLowerCase() ?? '');
}

/** The positional and optional arguments in front of a value: `--flag=value` in two. Engines take `_` for `-`. */
function splitFlag(word: Word): {
  readonly name?: string;
  readonly rest?: { readonly value: string; readonly span: Span };
} {
  const match = /^(--?[A-Za-z][\w.-]*)(?:=(.*))?$/s.exec(word.value ?? '');
  const flag = match?.[1];
  if (flag === undefined) {
    return {};
  }
  const name = flag.replace(/_/g, '-');
  const value = match?.[2];
  if (value === undefined) {
    return { name };
  }
  const { span } = word;
  return {
    name,
    rest: { value, span: span.isExact ? { ...span, start: span.start + flag.length + 1 } : span },
  };
}
