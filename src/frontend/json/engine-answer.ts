import { JsonScan } from '../../edge/platform/data/json-scan.js';
import { MAX_JSON_DEPTH } from './json-bounds.js';
import { parseLightJson } from './light-json.js';
import { readTokenIdList } from './token-id-list.js';

const COLON = 0x3a;
const SPACE = 0x20;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;

/** Bytes before the tokens that are looked through: engines write them first, or behind a few numbers. */
const MAX_HEAD_BYTES = 1_024;

const NULL = Buffer.from('null');

/**
 * Parses what an engine answered, whose outermost field `tokenField` has the
 * tokens: a `Uint32Array` where the engine writes them as engines do, which is
 * several times as fast, and what the parser makes of them elsewhere. Undefined
 * for what is no JSON, or more of it than the event loop can bear.
 */
export function parseEngineAnswer(body: Buffer, tokenField?: string): unknown {
  // vLLM renders a completion as a list, with one member for each prompt.
  const isList = body[0] === OPEN_ARRAY;
  const text = isList ? body.subarray(1, body.lastIndexOf(CLOSE_ARRAY)) : body;
  const around = tokenField === undefined ? undefined : parseAround(text, tokenField);
  const value = around ?? parse(text, tokenField);
  return isList && value !== undefined ? [value] : value;
}

function parse(text: Buffer, tokenField = ''): unknown {
  const scan = new JsonScan();
  scan.add(text);
  if (scan.depth > MAX_JSON_DEPTH) return undefined;
  try {
    const { value, isCut } = parseLightJson(text, scan, tokenField);
    return isCut ? undefined : value;
  } catch {
    // No JSON: such an answer says nothing.
    return undefined;
  }
}

/** Reads the tokens by themselves, and parses what stands around them; undefined where that is not possible. */
function parseAround(text: Buffer, tokenField: string): unknown {
  const start = startOf(text, tokenField);
  if (start === undefined) return undefined;
  const end = text.indexOf(CLOSE_ARRAY, start) + 1;
  const tokens = readTokenIdList(text.subarray(start, end));
  if (tokens === undefined) return undefined;
  // Of fields with one name the last one counts.
  if (text.includes(`"${tokenField}"`, end)) return undefined;
  const rest = parse(Buffer.concat([text.subarray(0, start), NULL, text.subarray(end)]));
  if (typeof rest !== 'object' || rest === null) return undefined;
  const answer = rest as Record<string, unknown>;
  if (answer[tokenField] !== null) return undefined;
  answer[tokenField] = tokens;
  return answer;
}

/** Where the list in a field of the outermost object begins. */
function startOf(text: Buffer, name: string): number | undefined {
  const head = text.subarray(0, MAX_HEAD_BYTES);
  const key = head.indexOf(`"${name}"`);
  if (key <= 0 || head[key - 1] === BACKSLASH) return undefined;
  let opened = 0;
  for (let at = 0; at < key; at += 1) if (head[at] === OPEN_OBJECT || head[at] === OPEN_ARRAY) opened += 1;
  // Behind another brace or bracket it may be a field of something else.
  if (opened !== 1) return undefined;
  let at = key + name.length + 2;
  while (head[at] === COLON || head[at] === SPACE) at += 1;
  return head[at] === OPEN_ARRAY ? at : undefined;
}
