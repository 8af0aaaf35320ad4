import { type Command, Option } from 'commander';
import type { GivenFlags } from './resolve.js';
import type { Setting, SettingsTable } from './setting.js';

/** What stands for a value in `--help`. */
const PLACEHOLDERS: Readonly<Record<Setting['kind'], string>> = {
  duration: 'DURATION',
  size: 'SIZE',
  integer: 'N',
  number: 'NUMBER',
  enum: 'WORD',
  list: 'ITEM',
  address: 'ADDRESS',
  file: 'FILE',
  boolean: '',
  string: 'TEXT',
};

/**
 * Gives a command its flags. What was given is read back with `givenFlags`;
 * values are judged later, together with those of the other sources, so that
 * all are judged alike. The help leaves out those of `unread`.
 */
export function addFlags(command: Command, table: SettingsTable, unread: readonly string[] = []): void {
  for (const [name, setting] of Object.entries(table)) {
    for (const option of optionsOf(name, setting)) {
      if (unread.includes(name)) option.hideHelp();
      command.addOption(option.helpGroup(`${setting.group ?? 'Options'}:`));
    }
  }
}

function optionsOf(name: string, setting: Setting): Option[] {
  const help = helpOf(setting);
  if (setting.kind === 'boolean') {
    const on = new Option(`--${name}`, help);
    const off = new Option(`--no-${name}`, help);
    // Only the form that changes the default is worth a line of help.
    return setting.default === true ? [off, on.hideHelp()] : [on, off.hideHelp()];
  }
  const option = new Option(`--${name} <${setting.placeholder ?? placeholderOf(setting)}>`, help).argParser(
    (text: string, before: readonly string[] | undefined) => [...(before ?? []), text],
  );
  const words = completionWords(setting);
  if (words.length > 0) option.argChoices = [...words];
  return [option];
}

/** The words that a value can be, for completion; empty where it can be anything. */
export function completionWords(setting: Setting): readonly string[] {
  if (setting.kind === 'enum') return setting.choices;
  if (setting.kind === 'list' || setting.kind === 'file' || setting.kind === 'integer')
    return setting.words ?? [];
  return [];
}

function placeholderOf(setting: Setting): string {
  if (setting.kind === 'enum') return PLACEHOLDERS.enum;
  const word = setting.kind === 'list' ? LIST_PLACEHOLDERS[setting.item] : PLACEHOLDERS[setting.kind];
  return [...completionWords(setting), word].join('|');
}

const LIST_PLACEHOLDERS = {
  url: 'URL,…',
  target: 'TARGET,…',
  'env-name': 'NAME,…',
  zmq: 'ENDPOINT,…',
  'object-name': 'NAME,…',
  model: 'MODEL,…',
  source: 'FILE,…',
} as const;

function helpOf(setting: Setting): string {
  const notes: string[] = [];
  if (setting.kind === 'enum') notes.push(setting.choices.join(', '));
  const byDefault = setting.defaultHelp ?? defaultText(setting);
  if (byDefault !== undefined) notes.push(`default: ${byDefault}`);
  if (setting.kind === 'integer') notes.push(`${setting.min} to ${setting.max}`);
  if (setting.kind === 'number') {
    const from = setting.isMinExcluded === true ? `above ${setting.min}` : setting.min;
    notes.push(`${from} to ${setting.max}`);
  }
  if (setting.dynamo !== undefined) notes.push(`also ${setting.dynamo.join(', ')}`);
  return notes.length === 0 ? setting.help : `${setting.help} (${notes.join('; ')})`;
}

function defaultText(setting: Setting): string | undefined {
  if (setting.kind === 'boolean') return undefined;
  if (setting.kind === 'list') return setting.default?.join(',');
  return setting.default === undefined ? undefined : String(setting.default);
}

/** The flags that a parsed command line had. */
export function givenFlags(command: Command, table: SettingsTable): GivenFlags {
  const given = new Map<string, readonly string[]>();
  for (const [name, setting] of Object.entries(table)) {
    const attribute = new Option(setting.kind === 'boolean' ? `--${name}` : `--${name} <x>`).attributeName();
    if (command.getOptionValueSource(attribute) !== 'cli') continue;
    const value: unknown = command.getOptionValue(attribute);
    given.set(name, Array.isArray(value) ? value.map(String) : [String(value)]);
  }
  return given;
}
