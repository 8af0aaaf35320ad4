import { hasUnprintable } from '../../core/text/printable.js';
import { ADDRESS_FORMS, parseAddress } from '../../edge/platform/address.js';
import { parseDurationSetting, parseSizeSetting } from './parse-amount.js';
import { parseList } from './parse-list.js';
import { MAX_TEXT_LENGTH, nearestWordOf, type ParsedValue } from './parsed-value.js';
import {
  type AddressSetting,
  type EnumSetting,
  type FileSetting,
  type IntegerSetting,
  isFolderSetting,
  type NumberSetting,
  type Setting,
  type StringSetting,
} from './setting.js';

/** Says what is wrong with a path; undefined when what is expected is there. */
export type FindPathProblem = (path: string, expected: 'file' | 'folder') => string | undefined;

/** Longest path that Linux takes. */
const MAX_PATH_LENGTH = 4096;
/**
 * Reads one setting's value. `texts` is what was given, in order: for a list
 * every text counts, for all others the last one does.
 */
export function parseValue(
  setting: Setting,
  texts: readonly string[],
  findPathProblem: FindPathProblem,
): ParsedValue {
  if (setting.kind === 'list') return parseList(setting, texts);
  const text = (texts.at(-1) ?? '').trim();
  switch (setting.kind) {
    case 'duration':
      return parseDurationSetting(setting, text);
    case 'size':
      return parseSizeSetting(setting, text);
    case 'integer':
      return parseInteger(setting, text);
    case 'number':
      return parseNumber(setting, text);
    case 'enum':
      return parseEnum(setting, text);
    case 'address':
      return parseAddressSetting(setting, text);
    case 'boolean':
      return parseBoolean(text);
    case 'file':
      return parseFile(setting, text, findPathProblem);
    case 'string':
      return parseString(setting, text);
  }
}

function parseInteger(setting: IntegerSetting, text: string): ParsedValue {
  const words = setting.words ?? [];
  if (words.includes(text)) return { ok: true, value: text };
  const value = /^\d{1,16}$/.test(text) ? Number(text) : undefined;
  if (value !== undefined && value >= setting.min && value <= setting.max) return { ok: true, value };
  const allowed = [...words, `an integer from ${setting.min} to ${setting.max}`].join(', or ');
  return { ok: false, allowed, ...nearestWordOf(text, words) };
}

const NUMBER = /^-?(?:\d{1,16}(?:\.\d{0,17})?|\.\d{1,17})(?:e[+-]?\d{1,2})?$/i;

function parseNumber({ min, max, isMinExcluded }: NumberSetting, text: string): ParsedValue {
  const value = NUMBER.test(text) ? Number(text) : Number.NaN;
  const isInRange = value <= max && (isMinExcluded === true ? value > min : value >= min);
  // What is written as -0 is 0.
  if (isInRange) return { ok: true, value: value + 0 };
  const range = isMinExcluded === true ? `above ${min} and at most ${max}` : `from ${min} to ${max}`;
  return { ok: false, allowed: `a number ${range}, such as ${max >= 1 ? '0.5' : max}` };
}

function parseEnum({ choices, aliases = {} }: EnumSetting, text: string): ParsedValue {
  if (choices.includes(text)) return { ok: true, value: text };
  if (Object.hasOwn(aliases, text)) return { ok: true, value: aliases[text] };
  return { ok: false, allowed: `one of ${choices.join(', ')}`, ...nearestWordOf(text, choices) };
}

function parseAddressSetting(setting: AddressSetting, text: string): ParsedValue {
  const value = parseAddress(text);
  const isUsable =
    value?.type === 'unix' || (value !== undefined && (setting.use === 'listen' || value.port > 0));
  if (isUsable) return { ok: true, value };
  const ports = setting.use === 'listen' ? 'port 0 to 65535' : 'port 1 to 65535';
  return { ok: false, allowed: `${ADDRESS_FORMS} with a ${ports}` };
}

const BOOLEAN_WORDS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  '1': true,
  false: false,
  no: false,
  off: false,
  '0': false,
};

function parseBoolean(text: string): ParsedValue {
  const value = Object.hasOwn(BOOLEAN_WORDS, text.toLowerCase())
    ? BOOLEAN_WORDS[text.toLowerCase()]
    : undefined;
  if (value !== undefined) return { ok: true, value };
  return { ok: false, allowed: 'true or false (or yes, no, on, off, 1, 0)' };
}

function parseFile(setting: FileSetting, text: string, findPathProblem: FindPathProblem): ParsedValue {
  const words = setting.words ?? [];
  if (words.includes(text)) return { ok: true, value: text };
  const what = isFolderSetting(setting) ? 'a folder' : 'a file';
  const allowed = [...words, `${what} that can be read`].join(', or ');
  if (text === '' || text.length > MAX_PATH_LENGTH || text.includes('\0')) return { ok: false, allowed };
  const problem = setting.mustBe === undefined ? undefined : findPathProblem(text, setting.mustBe);
  if (problem === undefined) return { ok: true, value: text };
  return { ok: false, allowed: `${allowed}, and it ${problem}`, ...nearestWordOf(text, words) };
}

function parseString(setting: StringSetting, text: string): ParsedValue {
  const maxLength = setting.maxLength ?? MAX_TEXT_LENGTH;
  if (text !== '' && text.length <= maxLength && !hasUnprintable(text)) return { ok: true, value: text };
  return { ok: false, allowed: `text of 1 to ${maxLength} characters without control characters` };
}
