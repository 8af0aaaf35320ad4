import { isGiven, isJsonObject, type JsonObject } from '../../edge/platform/data/json-object.js';
import { objectsIn, textsOf, toolCallOf } from '../descriptor/agent-prompt.js';
import type { AgentRequest, ChatRequest } from '../descriptor/token-endpoint.js';
import { responsesBody } from './responses-as-chat.js';

/**
 * The chat that SGLang makes of a request of another API, by
 * `entrypoints/anthropic/serving.py` and `entrypoints/openai/serving_responses.py`
 * of 0.5.23. What depends on the template or its parsers, such as thoughts, makes
 * no chat.
 */
export function sglangChat({ kind, body, isPlain }: AgentRequest): ChatRequest | undefined {
  if (!isPlain) return undefined;
  const chat = kind === 'messages' ? messagesBody(body) : responsesBody(body);
  return chat === undefined ? undefined : { kind: 'chat', isPlain, messages: chat.messages, body: chat };
}

function messagesBody(
  body: JsonObject,
): (JsonObject & { readonly messages: readonly JsonObject[] }) | undefined {
  if (isGiven(body['thinking']) || isGiven(body['output_config'])) return undefined;
  const system = textsOf(body['system'])
    ?.filter((text) => text !== '')
    .join('\n');
  const turns = objectsIn(body['messages']);
  const tools = toolsOf(body['tools'], body['tool_choice']);
  if (system === undefined || turns === undefined || tools === undefined) return undefined;
  const isBlank = typeof body['system'] === 'string' && system.trim() === '';
  const messages: JsonObject[] = system === '' || isBlank ? [] : [{ role: 'system', content: system }];
  for (const turn of turns) if (!addTurn(turn, messages)) return undefined;
  return { messages, ...tools };
}

/** Adds the messages of a turn; false where it is not known what they are. */
function addTurn({ role, content }: JsonObject, messages: JsonObject[]): boolean {
  if (role !== 'user' && role !== 'assistant') return false;
  if (typeof content === 'string') return messages.push({ role, content }) > 0;
  const blocks = objectsIn(content);
  if (blocks === undefined) return false;
  let texts: string[] = [];
  const calls: JsonObject[] = [];
  for (const block of blocks) {
    const { type, text } = block;
    if (type === 'text' && typeof text === 'string') texts.push(text);
    else if (type === 'tool_use') {
      const call = toolCallOf(block);
      if (call === undefined) return false;
      calls.push(call);
    } else if (type === 'tool_result' && role === 'user') {
      const result = resultText(block['content']);
      if (result === undefined || typeof block['tool_use_id'] !== 'string') return false;
      // What stood before the result comes before it.
      if (texts.length > 0) messages.push({ role, content: contentOf(texts) });
      texts = [];
      messages.push({ role: 'tool', tool_call_id: block['tool_use_id'], content: result });
    } else return false;
  }
  const callsOf = calls.length === 0 ? {} : { tool_calls: calls };
  if (texts.length > 0) messages.push({ role, ...callsOf, content: contentOf(texts) });
  else if (calls.length > 0) messages.push({ role, ...callsOf });
  else if (role === 'assistant') messages.push({ role, content: '' });
  return true;
}

function contentOf(texts: readonly string[]): unknown {
  return texts.length === 1 ? texts[0] : texts.map((text) => ({ type: 'text', text }));
}

/** One text; undefined where several parts become a list of them. */
function resultText(content: unknown): string | undefined {
  const texts = textsOf(content)?.filter((text) => text !== '');
  return texts === undefined || texts.length > 1 ? undefined : (texts[0] ?? '');
}

function toolsOf(tools: unknown, choice: unknown): JsonObject | undefined {
  if (!isGiven(tools)) return {};
  const all = objectsIn(tools);
  if (all === undefined || (isJsonObject(choice) && choice['type'] !== 'auto')) return undefined;
  if (all.length === 0) return {};
  // Tools of Anthropic's own have a type, and are left out.
  const isPlain = ({ name, type, input_schema: schema, defer_loading: deferred }: JsonObject): boolean =>
    typeof name === 'string' &&
    isJsonObject(schema) &&
    (!isGiven(type) || type === 'custom') &&
    !isGiven(deferred);
  if (!all.every(isPlain)) return undefined;
  return {
    tools: all.map(({ name, description, input_schema: schema, strict }) => ({
      type: 'function',
      function: {
        name,
        description: description || '',
        parameters: 'type' in (schema as JsonObject) ? schema : { ...(schema as JsonObject), type: 'object' },
        strict: strict ?? false,
      },
    })),
  };
}
