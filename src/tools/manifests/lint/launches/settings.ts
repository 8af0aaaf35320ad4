import { engineOfWord } from '../../../../engines/catalogue/engines.js';
import { cutParts, type Word } from '../shell/words.js';
import type { Span } from '../text/span.js';
import type { Launch } from './launch.js';
import type { SettingValue } from './setting-value.js';

/** Whether a variable changes the block hashes of its engine. */
export function hasHashSeed({ backend }: Launch): boolean {
  return engineOfWord(backend)?.launch?.hashSeedVariable !== undefined;
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
      found = { ...rest, how: 'flag', name };
      return;
    }
    const next = args[index + 1];
    found = {
      value: next?.value,
      ...(next?.known === undefined ? {} : { known: next.known }),
      span: next?.span ?? word.span,
      how: 'flag',
      name,
    };
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
    const { name, rest } = splitFlag(word);
    if (name !== undefined && (on.includes(name) || off.includes(name))) {
      const isOn = on.includes(name) !== (rest !== undefined && isFalse(rest.value));
      found = { isOn, name, span: word.span };
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

/** Whether something fills a value in before a program gets it: Helm, `envsubst`, a reader. What it will be is not in these files. */
export function isFilledIn(text: string): boolean {
  return /\{\{|\$[({A-Za-z_]|^<.*>$/.test(text);
}

/** The name of a flag, and its value where both are in one word: `--flag=value`. Engines take `_` for `-`. */
function splitFlag({ value: text, known, span }: Word): {
  readonly name?: string;
  readonly rest?: Pick<SettingValue, 'value' | 'known' | 'span'>;
} {
  const match = /^(--?[A-Za-z][\w.-]*)(?:=(.*))?$/s.exec(text ?? known?.prefix ?? '');
  const flag = match?.[1];
  // Of a word that goes on with something unknown, only a whole name says which flag it is.
  if (flag === undefined || (text === undefined && match?.[2] === undefined)) {
    return {};
  }
  const name = flag.replace(/_/g, '-');
  const value = match?.[2];
  if (value === undefined) {
    return { name };
  }
  if (text === undefined) {
    return { name, rest: { value: undefined, known: cutParts(known, flag.length + 1), span } };
  }
  return {
    name,
    rest: { value, span: span.isExact ? { ...span, start: span.start + flag.length + 1 } : span },
  };
}
