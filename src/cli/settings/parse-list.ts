import { hasUnprintable } from '../../core/text/printable.js';
import { isEventEndpoint } from '../../worker/sidecar/kv-events/event-endpoint.js';
import { MAX_TEXT_LENGTH, nearestWordOf, type ParsedValue } from './parsed-value.js';
import type { ListItem, ListSetting } from './setting.js';

/** Longest list; more workers than that need discovery by DNS or a file of their own. */
const MAX_LIST_ITEMS = 10_000;

/** Reads a list: every text counts, and each is split at its commas. */
export function parseList(setting: ListSetting, texts: readonly string[]): ParsedValue {
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
      const what = hasCredentials(setting.item, item)
        ? 'URLs without user name and password, which logs and reports would show'
        : ITEM_WORDS[setting.item];
      const allowed = [...words, `a comma-separated list of ${what}`].join(', or ');
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

const ITEM_WORDS: Readonly<Record<ListItem, string>> = {
  url: 'URLs such as http://127.0.0.1:8000',
  target: 'HOST:PORT, [::1]:PORT, unix:/path, dns:///NAME:PORT or k8s://NAMESPACE/SERVICE:PORT',
  'env-name': 'names of environment variables',
  zmq: 'ZMQ endpoints such as tcp://127.0.0.1:5557 (or @tcp://*:5557 to bind)',
  'object-name': 'names such as vllm, or my-graph/Frontend for a part of an object',
  source: 'files',
  model: 'names of served models such as meta-llama/Llama-3.1-8B-Instruct',
};

function parseItem(item: ListItem, text: string): string | undefined {
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

function hasCredentials(item: ListItem, text: string): boolean {
  if (item !== 'url' || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username !== '' || password !== '';
}

/** An http or https URL without user, query and fragment, less its trailing slashes. */
function parseBaseUrl(text: string): string | undefined {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text) || hasCredentials('url', text)) return undefined;
  const url = new URL(text);
  if (url.search !== '' || url.hash !== '' || url.hostname === '') return undefined;
  return url.href.replace(/\/+$/, '');
}
