import { isGiven, isJsonObject, type JsonObject } from '../../edge/platform/data/json-object.js';
import { objectsIn, systemMessages } from '../descriptor/agent-prompt.js';
import { given } from '../descriptor/token-endpoint.js';

/** Fields that bring in what does not stand in the body, or cut it. */
const OTHER_SOURCES = ['conversation', 'previous_input_messages', 'previous_response_id', 'prompt'];

/**
 * The body of the chat that vLLM 0.32 makes of a request of OpenAI's Responses
 * (`construct_input_messages`); undefined where that is not known for sure.
 */
export function responsesBody(
  body: JsonObject,
): (JsonObject & { readonly messages: readonly JsonObject[] }) | undefined {
  if (OTHER_SOURCES.some((name) => isGiven(body[name])) || body['truncation'] === 'auto') return undefined;
  const { instructions, input, reasoning } = body;
  const messages = systemMessages(instructions);
  if (messages === undefined) return undefined;
  if (typeof input === 'string') messages.push({ role: 'user', content: input });
  else {
    const items = objectsIn(input);
    if (items === undefined) return undefined;
    // Instructions are never joined with an item that follows them.
    for (const item of items) if (!addItem(item, messages)) return undefined;
  }
  const tools = toolsOf(body['tools']);
  if (tools === undefined) return undefined;
  const effort = isJsonObject(reasoning) && isGiven(reasoning['effort']) ? reasoning['effort'] : undefined;
  return {
    messages,
    ...tools,
    ...(effort === undefined ? {} : { reasoning_effort: effort }),
    ...given(body, ['chat_template_kwargs']),
  };
}

/** Adds an item, to the message before where both are the assistant's; false where it is not known how. */
function addItem(item: JsonObject, messages: JsonObject[]): boolean {
  const { type = 'message', status } = item;
  // The last one would be continued.
  if (status === 'in_progress' || status === 'incomplete') return false;
  switch (type) {
    case 'message':
      return addMessage(item, messages);
    case 'function_call':
      return addCall(item, messages);
    case 'function_call_output': {
      const { output, call_id: id } = item;
      if (typeof output !== 'string' || typeof id !== 'string') return false;
      return messages.push({ role: 'tool', content: output, tool_call_id: id }) > 0;
    }
    case 'reasoning':
      return addReasoning(item, messages);
    default:
      return false;
  }
}

function addMessage({ role, content }: JsonObject, messages: JsonObject[]): boolean {
  if (role === 'user' || role === 'system' || role === 'developer') {
    const text = typeof content === 'string' ? content : partsOf(content);
    return text !== undefined && messages.push({ role, content: text }) > 0;
  }
  if (role !== 'assistant') return false;
  // Of several parts it takes the first.
  const text = typeof content === 'string' ? content : objectsIn(content)?.[0]?.['text'];
  return typeof text === 'string' && add('content', text, messages);
}

/** Parts of text, under the name that they have in a chat; undefined where something else is among them. */
function partsOf(content: unknown): readonly JsonObject[] | undefined {
  const parts = objectsIn(content);
  const isText = ({ type, text }: JsonObject): boolean => type === 'input_text' && typeof text === 'string';
  return parts?.every(isText) === true ? parts.map(({ text }) => ({ type: 'text', text })) : undefined;
}

function addReasoning(
  { content, summary, encrypted_content: secret }: JsonObject,
  messages: JsonObject[],
): boolean {
  if (isGiven(secret)) return false;
  const first = objectsIn(content)?.[0] ?? objectsIn(summary)?.[0];
  const text = first === undefined ? '' : first['text'];
  return typeof text === 'string' && add('reasoning', text, messages);
}

/** Gives the assistant's last message a field that it lacks, or begins another one. */
function add(field: 'content' | 'reasoning', text: string, messages: JsonObject[]): boolean {
  const last = messages.at(-1);
  if (last?.['role'] !== 'assistant' || isGiven(last[field]))
    return messages.push({ role: 'assistant', [field]: text }) > 0;
  messages[messages.length - 1] = { ...last, [field]: text };
  return true;
}

function addCall(
  { name, arguments: text, call_id: id, namespace }: JsonObject,
  messages: JsonObject[],
): boolean {
  if (typeof name !== 'string' || typeof text !== 'string' || typeof id !== 'string' || isGiven(namespace))
    return false;
  const call = { id, type: 'function', function: { name, arguments: text } };
  const last = messages.at(-1);
  if (last?.['role'] !== 'assistant') return messages.push({ role: 'assistant', tool_calls: [call] }) > 0;
  const calls = objectsIn(last['tool_calls']) ?? [];
  messages[messages.length - 1] = { ...last, tool_calls: [...calls, call] };
  return true;
}

/** The tools of a chat; undefined where one is none of the client's own functions. */
function toolsOf(tools: unknown): JsonObject | undefined {
  if (!isGiven(tools)) return {};
  const all = objectsIn(tools);
  if (all === undefined) return undefined;
  if (all.length === 0) return {};
  const isPlain = ({ type, name, defer_loading: deferred }: JsonObject): boolean =>
    type === 'function' && typeof name === 'string' && !isGiven(deferred);
  if (!all.every(isPlain)) return undefined;
  return {
    tools: all.map(({ name, description, parameters, strict }) => ({
      type: 'function',
      function: {
        name,
        ...given({ description, parameters, strict }, ['description', 'parameters', 'strict']),
      },
    })),
  };
}
