import type { StringValue } from 'ms';
import ms from 'ms';
import { hasUnprintable } from '../../core/text/printable.js';
import { ADDRESS_FORMS, type Address, parseAddress } from '../../edge/platform/address.js';
import { isEventEndpoint } from '../../worker/sidecar/kv-events/event-endpoint.js';
import type {
  AddressSetting,
  DurationSetting,
  EnumSetting,
  FileSetting,
  IntegerSetting,
  ListSetting,
  NumberSetting,
  Setting,
  SizeSetting,
  StringSetting,
} from './setting.js';
import { nearest, withoutPassword } from './wrong-value.js';

/** A value of any setting. */
export type SettingValue = string | number | boolean | Address | readonly string[] | undefined;

/** What came of a text. */
export type ParsedValue =
  | { readonly ok: true; readonly value: SettingValue }
  | {
      readonly ok: false;
      /** What would have been right, to follow "must be". */
      readonly allowed: string;
      /** The part that is wrong, where it is not the whole text. */
      readonly part?: string;
      /** The allowed word that was most likely meant. */
      readonly nearestWord?: string;
    };

/** Looks whether a path is there; undefined when it is. */
export type FindPathProblem = (path: string, expected: 'file' | 'folder') => string | undefined;

/** Longest list; more workers than that need discovery by DNS or a file of their own. */
const MAX_LIST_ITEMS = 10_000;
/** Longest item of a list, and longest text where the table says nothing else. */
const MAX_TEXT_LENGTH = 1024;
/** Longest path that Linux takes. */
const MAX_PATH_LENGTH = 4096;
/** The longest delay that timers take. */
const MAX_DURATION = '24d';

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

const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/;

/** `500ms`, `30s`, `1m30s`, `0` to milliseconds; undefined when it is no duration. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (!DURATION.test(text)) return undefined;
  const parts = text.match(/[\d.]+(?:ms|[smhd])/g) ?? [];
  return Math.round(parts.reduce((sum, part) => sum + ms(part as StringValue), 0));
}

const UNIT_BYTES: Readonly<Record<string, number>> = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** `64KiB`, `1.5GiB`, `0` to bytes; undefined when it is no size. */
export function parseSize(text: string): number | undefined {
  if (text === '0') return 0;
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(KiB|MiB|GiB)$/.exec(text) ?? [];
  const unitBytes = UNIT_BYTES[unit ?? ''];
  return unitBytes === undefined ? undefined : Math.round(Number(digits) * unitBytes);
}

function parseDurationSetting(setting: DurationSetting, text: string): ParsedValue {
  const min = setting.min ?? '0';
  const max = setting.max ?? MAX_DURATION;
  const value = parseDuration(text);
  if (value !== undefined && value >= (parseDuration(min) ?? 0) && value <= (parseDuration(max) ?? 0)) {
    return { ok: true, value };
  }
  const unit = /^\d+$/.test(text) && text !== '0' ? ` (with its unit: ${text}s or ${text}ms)` : '';
  return { ok: false, allowed: `a duration from ${min} to ${max}, such as 500ms, 30s or 5m${unit}` };
}

function parseSizeSetting(setting: SizeSetting, text: string): ParsedValue {
  const value = parseSize(text);
  const min = setting.min ?? '0';
  const max = setting.max;
  const isInRange =
    value !== undefined &&
    value >= (parseSize(min) ?? 0) &&
    value <= (max === undefined ? Number.MAX_SAFE_INTEGER : (parseSize(max) ?? 0));
  if (isInRange) return { ok: true, value };
  const range = max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
  return { ok: false, allowed: `a size ${range} in KiB, MiB or GiB, such as 16MiB` };
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
  const what = setting.mustBe === 'folder' ? 'a folder' : 'a file';
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

function parseList(setting: ListSetting, texts: readonly string[]): ParsedValue {
  const split = setting.item === 'target' ? splitTargets : splitAtCommas;
  const items = texts.flatMap(split).map((item) => item.trim());
  const words = setting.words ?? [];
  if (items.length > MAX_LIST_ITEMS)
    return { ok: false, allowed: `at most ${MAX_LIST_ITEMS} items`, part: '…' };
  const word = items.find((item) => words.includes(item));
  if (word !== undefined) {
    if (items.length === 1) return { ok: true, value: items };
    return { ok: false, allowed: `${word} alone, or a list without it` };
  }
  const values: string[] = [];
  for (const item of items) {
    const value = parseItem(setting.item, item);
    if (value === undefined) {
      const allowed = [...words, `a comma-separated list of ${ITEM_WORDS[setting.item]}`].join(', or ');
      return { ok: false, allowed, part: item, ...nearestWordOf(item, words) };
    }
    values.push(value);
  }
  return { ok: true, value: values };
}

function splitAtCommas(text: string): string[] {
  return text.split(',');
}

/** Targets that hold a label selector, which has commas and spaces of its own. */
const SELECTOR_TARGET = /^\s*(?:k8s|dynamo-k8s):\/\/[^/?]*\?/i;

/**
 * What follows a selector's comma belongs to the selector as long as it has no
 * colon: every target has one, and no label has.
 */
function splitTargets(text: string): string[] {
  const items: string[] = [];
  for (const part of splitAtCommas(text)) {
    const last = items.at(-1);
    const goesOn = last !== undefined && SELECTOR_TARGET.test(last) && !part.includes(':');
    if (goesOn) items[items.length - 1] = `${last},${part}`;
    else items.push(part);
  }
  return items;
}

const ITEM_WORDS: Readonly<Record<ListSetting['item'], string>> = {
  url: 'URLs such as http://127.0.0.1:8000',
  target: 'HOST:PORT, [::1]:PORT, unix:/path, dns:///NAME:PORT or k8s://NAMESPACE/SERVICE:PORT',
  'env-name': 'names of environment variables',
  zmq: 'ZMQ endpoints such as tcp://127.0.0.1:5557 (or @tcp://*:5557 to bind)',
  'object-name': 'names such as vllm, or my-graph/Frontend for a part of an object',
  source: 'files',
  model: 'names of served models such as meta-llama/Llama-3.1-8B-Instruct',
};

function parseItem(item: ListSetting['item'], text: string): string | undefined {
  if (text === '' || text.length > MAX_TEXT_LENGTH || hasUnprintable(text)) return undefined;
  if (item === 'source' || item === 'model') return text;
  if (/\s/.test(text) && !(item === 'target' && SELECTOR_TARGET.test(text))) return undefined;
  switch (item) {
    case 'url':
      return parseBaseUrl(text);
    case 'target':
      return text;
    case 'env-name':
      return /^[A-Za-z_][A-Za-z0-9_]*$/.test(text) ? text : undefined;
    case 'zmq':
      return isEventEndpoint(text) ? text : undefined;
    case 'object-name':
      return /^[A-Za-z0-9][\w.-]*(?:\/[\w.-]+)?$/.test(text) ? text : undefined;
  }
}

/** An http or https URL without query and fragment, less its trailing slashes. */
function parseBaseUrl(text: string): string | undefined {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (url.search !== '' || url.hash !== '' || url.hostname === '') return undefined;
  return url.href.replace(/\/+$/, '');
}

function nearestWordOf(text: string, words: readonly string[]): { nearestWord?: string } {
  const nearestWord = nearest(text, words);
  return nearestWord === undefined ? {} : { nearestWord };
}

/** The value as a person would write it: for `--print-config` and messages. */
export function formatValue(value: SettingValue): string {
  if (value === undefined) return '';
  if (typeof value === 'object') return withoutPassword('text' in value ? value.text : value.join(','));
  return withoutPassword(String(value));
}
