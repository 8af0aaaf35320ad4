import { isGiven, isJsonObject } from '../../edge/platform/data/json-object.js';
import { losesNumber } from '../json/number-loss.js';

/**
 * What a template is given as a message's content: one text, or parts of it.
 * vLLM calls them `string` and `openai`.
 */
export type ContentFormat = 'string' | 'openai';

type Json = Readonly<Record<string, unknown>>;

/** A system text that begins with it differs with every request, so vLLM leaves that line out. */
const BILLING_HEADER = 'x-anthropic-billing-header';

/**
 * Makes of a request's messages what a template sees, as vLLM 0.32 does
 * (`vllm/renderers/chat_utils.py`). Undefined for what would not come out as
 * it does there.
 */
export function templateMessages(messages: readonly Json[], format: ContentFormat): Json[] | undefined {
  const made: Json[] = [];
  for (const message of messages) {
    const one = templateMessage(message, format);
    if (one === undefined) return undefined;
    made.push(one);
  }
  return made;
}

/** `ChatCompletionToolsParam` and `FunctionDefinition`: known fields in their order, absent ones as null. */
export function templateTools(tools: unknown): Json[] | undefined {
  if (!Array.isArray(tools)) return undefined;
  const made: Json[] = [];
  for (const tool of tools) {
    const definition = isJsonObject(tool) ? tool['function'] : undefined;
    if (!isJsonObject(definition) || !isExact(definition)) return undefined;
    const { name, description = null, parameters = null, strict, defer_loading: deferred } = definition;
    if (isGiven(deferred) || isGiven((tool as Json)['defer_loading'])) return undefined;
    made.push({
      type: 'function',
      function: { name, description, parameters, ...(isGiven(strict) ? { strict } : {}) },
    });
  }
  return made;
}

/**
 * Whether a value is the same in a template here and there: JavaScript puts
 * keys that are whole numbers first, and has no integers beyond 2^53. Floats
 * that are whole numbers are found before a text is parsed.
 */
export function isExact(value: unknown): boolean {
  if (typeof value === 'number')
    return Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value));
  if (Array.isArray(value)) return value.every(isExact);
  if (!isJsonObject(value)) return true;
  return Object.entries(value).every(([key, item]) => !/^\d+$/.test(key) && isExact(item));
}

/** Numbers in arguments that are no text: how they were written is not known. */
function hasNumbers(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(hasNumbers);
  return typeof value === 'number';
}

function templateMessage(message: Json, format: ContentFormat): Json | undefined {
  const role = message['role'] as string;
  const made: Record<string, unknown> = { role, content: contentOf(message, role, format) };
  if (made['content'] === undefined) return undefined;
  if (role === 'assistant') {
    const calls = message['tool_calls'];
    if (Array.isArray(calls) && calls.length > 0) {
      const parsed = toolCalls(calls);
      if (parsed === undefined) return undefined;
      made['tool_calls'] = parsed;
    }
    const reasoning = message['reasoning'] ?? message['reasoning_content'];
    if (isGiven(reasoning)) {
      made['reasoning'] = reasoning;
      made['reasoning_content'] = reasoning;
    }
  }
  if (role === 'tool' && 'tool_call_id' in message) made['tool_call_id'] = message['tool_call_id'];
  for (const field of ['name', 'task']) {
    if (typeof message[field] === 'string') made[field] = message[field];
  }
  if (role === 'developer') made['tools'] = message['tools'] ?? null;
  return made;
}

function contentOf(message: Json, role: string, format: ContentFormat): unknown {
  const { content } = message;
  const texts: string[] = [];
  const parts = typeof content === 'string' ? [content] : Array.isArray(content) ? content : [];
  for (const part of parts) {
    let text = textOf(part);
    if (text === undefined) return undefined;
    if (role === 'system' && text.startsWith(BILLING_HEADER) && isPlainText(part)) {
      const end = text.indexOf('\n');
      if (end === -1 || end === text.length - 1) continue;
      text = text.slice(end + 1);
    }
    texts.push(text);
  }
  return format === 'string' || role === 'tool'
    ? texts.join('\n')
    : texts.map((text) => ({ type: 'text', text }));
}

function isPlainText(part: unknown): boolean {
  return typeof part === 'string' || (isJsonObject(part) && part['type'] === 'text');
}

/** Undefined for what has no text, or more fields than a template is known to be given. */
function textOf(part: unknown): string | undefined {
  if (typeof part === 'string') return part;
  if (!isJsonObject(part)) return undefined;
  const type = part['type'];
  const field = type === 'refusal' || type === 'thinking' ? type : 'text';
  const text = part[field];
  if (typeof text !== 'string') return undefined;
  return Object.keys(part).every((key) => key === 'type' || key === field) ? text : undefined;
}

/** Arguments come as JSON text and go into the template as an object. */
function toolCalls(calls: readonly unknown[]): Json[] | undefined {
  const made: Json[] = [];
  for (const call of calls) {
    if (!isJsonObject(call) || (call['type'] ?? 'function') !== 'function') return undefined;
    const { function: called, id } = call;
    if (!isJsonObject(called)) return undefined;
    const args = argumentsOf(called['arguments']);
    if (args === undefined) return undefined;
    made.push({
      ...(id === undefined ? {} : { id }),
      function: { arguments: args, name: called['name'] },
      ...(call['type'] === undefined ? {} : { type: call['type'] }),
    });
  }
  return made;
}

function argumentsOf(value: unknown): Json | undefined {
  if (!isGiven(value) || value === '') return {};
  if (typeof value !== 'string')
    return isJsonObject(value) && isExact(value) && !hasNumbers(value) ? value : undefined;
  const bytes = Buffer.from(value);
  if (losesNumber(bytes, 0, bytes.length)) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(value);
  } catch {
    // As vLLM has it: arguments that are no JSON are none.
    return {};
  }
  if (!isJsonObject(parsed)) return {};
  return isExact(parsed) ? parsed : undefined;
}
