import { isGiven, isJsonObject, type JsonObject } from '../../edge/platform/data/json-object.js';
import { objectsIn, textsOf, toolCallOf } from '../descriptor/agent-prompt.js';
import { type AgentRequest, type ChatRequest, given } from '../descriptor/token-endpoint.js';
import { responsesBody } from './responses-as-chat.js';

/**
 * The chat that vLLM makes of a request of another API. It has an endpoint that
 * renders such a request itself only where it was started with
 * `--enable-scale-out`; elsewhere its `/tokenize` is asked for this chat.
 *
 * By `entrypoints/anthropic/serving.py` and `entrypoints/openai/responses/utils.py`
 * of 0.32. What depends on the template, or is rare, makes no chat: such a
 * request has no tokens rather than wrong ones.
 */
export function vllmChat({ kind, body, isPlain }: AgentRequest): ChatRequest | undefined {
  if (!isPlain) return undefined;
  const chat = kind === 'messages' ? messagesBody(body) : responsesBody(body);
  return chat === undefined ? undefined : { kind: 'chat', isPlain, messages: chat.messages, body: chat };
}

/** Per-request lines of Claude Code, which vLLM leaves out so that prompts stay alike. */
const BILLING = 'x-anthropic-billing-header';

type Chat = JsonObject & { readonly messages: readonly JsonObject[] };

function messagesBody(body: JsonObject): Chat | undefined {
  const system = systemOf(body['system']);
  const turns = objectsIn(body['messages']);
  const tools = toolsOf(body['tools']);
  const effort = effortOf(body);
  if (system === undefined || turns === undefined || tools === undefined || effort === undefined)
    return undefined;
  const messages: JsonObject[] = system === '' ? [] : [{ role: 'system', content: system }];
  for (const turn of turns) if (!addTurn(turn, messages)) return undefined;
  return { messages, ...tools, ...effort, ...given(body, ['chat_template_kwargs']) };
}

/** Undefined where the template decides: what becomes of `thinking` that is switched off is tried out with it. */
function effortOf({ thinking, output_config: output }: JsonObject): JsonObject | undefined {
  if (isJsonObject(thinking) && thinking['type'] === 'disabled') return undefined;
  return isJsonObject(output) && isGiven(output['effort']) ? { reasoning_effort: output['effort'] } : {};
}

function systemOf(system: unknown): string | undefined {
  const texts = textsOf(system);
  return Array.isArray(system)
    ? texts?.filter((text) => !text.startsWith(BILLING)).join('')
    : texts?.join('');
}

/** Adds the messages of a turn; false where it is not known what they are. */
function addTurn({ role, content }: JsonObject, messages: JsonObject[]): boolean {
  // Whether a system message stays where it stands depends on the template.
  if (role !== 'user' && role !== 'assistant') return false;
  if (typeof content === 'string') {
    messages.push({ role, content });
    return true;
  }
  const blocks = objectsIn(content);
  if (blocks === undefined) return false;
  const texts: string[] = [];
  const calls: JsonObject[] = [];
  const thoughts: string[] = [];
  for (const block of blocks) if (!addBlock(block, role, { texts, calls, thoughts, messages })) return false;
  const message = {
    role,
    ...(thoughts.length === 0 ? {} : { reasoning: thoughts.join('') }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...contentOf(texts),
  };
  if (role === 'assistant' || texts.length > 0) messages.push(message);
  return true;
}

function contentOf(texts: readonly string[]): JsonObject {
  if (texts.length <= 1) return texts.length === 0 ? {} : { content: texts[0] };
  return { content: texts.map((text) => ({ type: 'text', text })) };
}

interface Turn {
  readonly texts: string[];
  readonly calls: JsonObject[];
  readonly thoughts: string[];
  readonly messages: JsonObject[];
}

function addBlock(block: JsonObject, role: string, { texts, calls, thoughts, messages }: Turn): boolean {
  const { type, text, thinking } = block;
  if (type === 'text' && typeof text === 'string') {
    if (text !== '') texts.push(text);
    return true;
  }
  if (type === 'thinking' && typeof thinking === 'string') return thoughts.push(thinking) > 0;
  if (type === 'redacted_thinking') return true;
  if (type === 'tool_use') {
    const call = toolCallOf(block);
    return call !== undefined && calls.push(call) > 0;
  }
  if (type !== 'tool_result' || role !== 'user') return false;
  const result = textsOf(block['content'])?.join('\n');
  if (result === undefined || typeof block['tool_use_id'] !== 'string') return false;
  return messages.push({ role: 'tool', tool_call_id: block['tool_use_id'], content: result }) > 0;
}

function toolsOf(tools: unknown): JsonObject | undefined {
  if (!isGiven(tools)) return {};
  const all = objectsIn(tools);
  if (all?.every(isPlainTool) !== true) return undefined;
  return {
    tools: all.map(({ name, description, input_schema: schema, strict }) => ({
      type: 'function',
      function: {
        name,
        ...(isGiven(description) ? { description } : {}),
        parameters: 'type' in (schema as JsonObject) ? schema : { ...(schema as JsonObject), type: 'object' },
        ...(isGiven(strict) ? { strict } : {}),
      },
    })),
  };
}

/** A tool of the client's own, which is not held back. */
function isPlainTool({ name, input_schema: schema, defer_loading: deferred }: JsonObject): boolean {
  return typeof name === 'string' && isJsonObject(schema) && !isGiven(deferred);
}
