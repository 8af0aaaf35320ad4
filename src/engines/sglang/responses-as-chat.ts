import { isGiven, isJsonObject, type JsonObject } from '../../edge/platform/data/json-object.js';
import { objectsIn, systemMessages } from '../descriptor/agent-prompt.js';
import { given } from '../descriptor/token-endpoint.js';

/** Fields that bring in what does not stand in the body, or that SGLang's chat has another meaning for. */
const OTHER_SOURCES = ['conversation', 'previous_response_id', 'prompt'];
/** Fields of a message that a template never sees. */
const MESSAGE_FIELDS: ReadonlySet<string> = new Set(['content', 'id', 'role', 'status', 'type']);
/** What stands before the words of a developer, whose role templates do not know. */
const DEVELOPER_LABEL = 'Developer instructions:';
/** Without an effort of its own, `reasoning` has this one. */
const USUAL_EFFORT = 'medium';

/**
 * The body of the chat that SGLang 0.5.23 makes of a request of OpenAI's
 * Responses (`entrypoints/openai/serving_responses.py`); undefined where that is
 * not known for sure. Whether later system messages stay where they stand
 * depends on the template, so only a first one makes a chat.
 */
export function responsesBody(
  body: JsonObject,
): (JsonObject & { readonly messages: readonly JsonObject[] }) | undefined {
  if (OTHER_SOURCES.some((name) => isGiven(body[name])) || isConstrained(body)) return undefined;
  const { instructions, input } = body;
  const messages = systemMessages(instructions);
  if (messages === undefined) return undefined;
  if (typeof input === 'string') messages.push({ role: 'user', content: input });
  else {
    const items = objectsIn(input);
    if (items === undefined) return undefined;
    for (const item of items) {
      const message = messageOf(item);
      if (message === undefined) return undefined;
      addMessage(message, messages);
    }
  }
  if (messages.some(({ role }, at) => role === 'system' && at > 0)) return undefined;
  const tools = toolsOf(body['tools'], body['tool_choice']);
  const effort = effortOf(body['reasoning']);
  if (tools === undefined || effort === undefined) return undefined;
  return { messages, ...tools, ...effort, ...given(body, ['chat_template_kwargs']) };
}

/** Whether the answer has to have a form, which changes how some models are asked. */
function isConstrained({ text }: JsonObject): boolean {
  const format = isJsonObject(text) ? text['format'] : undefined;
  return isGiven(format) && !(isJsonObject(format) && format['type'] === 'text');
}

function effortOf(reasoning: unknown): JsonObject | undefined {
  if (!isGiven(reasoning)) return {};
  if (!isJsonObject(reasoning) || isGiven(reasoning['reasoning_effort'])) return undefined;
  const { effort = USUAL_EFFORT } = reasoning;
  return effort === null ? {} : { reasoning_effort: effort };
}

/** The message that one item of the input becomes; undefined where that is not known. */
function messageOf(item: JsonObject): JsonObject | undefined {
  const { type = 'message', call_id: callId, id } = item;
  switch (type) {
    case 'message':
      return plainMessage(item);
    case 'function_call': {
      const { name, arguments: text, namespace } = item;
      if (typeof name !== 'string' || isGiven(namespace) || !isCallText(text)) return undefined;
      return callMessage(callId ?? id, name, text);
    }
    case 'custom_tool_call': {
      const { name, input = '' } = item;
      if (typeof name !== 'string' || typeof input !== 'string' || isGiven(item['namespace']))
        return undefined;
      return callMessage(callId ?? id, name, `{"input": ${JSON.stringify(input)}}`);
    }
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const content = outputText(item['output']);
      if (content === undefined || typeof callId !== 'string') return undefined;
      return { role: 'tool', tool_call_id: callId, content };
    }
    default:
      return undefined;
  }
}

function plainMessage(item: JsonObject): JsonObject | undefined {
  if (Object.keys(item).some((name) => !MESSAGE_FIELDS.has(name) && isGiven(item[name]))) return undefined;
  const { role, content } = item;
  const known = typeof content === 'string' ? content : partsOf(content);
  if (known === undefined) return undefined;
  if (role === 'user' || role === 'assistant') return { role, content: known };
  if (role !== 'system' && role !== 'developer') return undefined;
  // Of a system message in parts it depends on the template whether they are joined.
  const text = typeof known === 'string' ? known : known.length === 1 ? known[0]?.['text'] : undefined;
  if (typeof text !== 'string') return undefined;
  return { role: 'system', content: role === 'system' ? text : `${DEVELOPER_LABEL}\n${text}` };
}

/** Parts of text, under the name that they have in a chat; undefined where something else is among them. */
function partsOf(content: unknown): readonly JsonObject[] | undefined {
  const parts = objectsIn(content)?.map(({ type, text }) =>
    (type === 'input_text' || type === 'output_text' || type === 'text') && typeof text === 'string'
      ? { type: 'text', text }
      : undefined,
  );
  return parts?.every((part) => part !== undefined) === true ? parts : undefined;
}

/** Whether arguments are passed on as they are: other ones become an empty object, by another parser's rules. */
function isCallText(text: unknown): text is string {
  if (typeof text !== 'string' || /\\u[dD][89a-fA-F]/.test(text)) return false;
  try {
    return isJsonObject(JSON.parse(text));
  } catch {
    // No JSON: SGLang's parser, and not this one, decides what becomes of it.
    return false;
  }
}

function callMessage(id: unknown, name: string, text: string): JsonObject | undefined {
  if (typeof id !== 'string' || id === '') return undefined;
  return {
    role: 'assistant',
    tool_calls: [{ id, type: 'function', function: { name, arguments: text } }],
  };
}

function outputText(output: unknown): string | undefined {
  if (typeof output === 'string') return output;
  const texts = objectsIn(output)?.map(({ text = '' }) => text);
  return texts?.every((text) => typeof text === 'string') === true ? texts.join('') : undefined;
}

/** Adds a message, to the one before where both are the assistant's. */
function addMessage(message: JsonObject, messages: JsonObject[]): void {
  const last = messages.at(-1);
  if (last?.['role'] !== 'assistant' || message['role'] !== 'assistant') {
    messages.push(message);
    return;
  }
  const calls = [...(objectsIn(last['tool_calls']) ?? []), ...(objectsIn(message['tool_calls']) ?? [])];
  messages[messages.length - 1] = {
    ...last,
    ...contentOf(last['content'], message['content']),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function contentOf(before: unknown, added: unknown): JsonObject {
  if (!isGiven(added) || added === '') return {};
  if (!isGiven(before) || before === '') return { content: added };
  if (typeof before === 'string' && typeof added === 'string') return { content: `${before}\n\n${added}` };
  return { content: [...asParts(before), ...asParts(added)] };
}

function asParts(content: unknown): readonly unknown[] {
  return Array.isArray(content) ? content : [{ type: 'text', text: content }];
}

/**
 * The tools of a chat; undefined where it is not known what becomes of one. What
 * is left out of a tool is put in at another place where tokens are asked for.
 */
function toolsOf(tools: unknown, choice: unknown): JsonObject | undefined {
  if (!isGiven(tools)) return {};
  const all = objectsIn(tools);
  if (all === undefined || (all.length > 0 && isGiven(choice) && choice !== 'auto')) return undefined;
  if (all.length === 0) return {};
  const isPlain = ({ type, name, description, parameters, strict, defer_loading: deferred }: JsonObject) =>
    type === 'function' &&
    typeof name === 'string' &&
    typeof description === 'string' &&
    isJsonObject(parameters) &&
    (strict === undefined || typeof strict === 'boolean') &&
    !isGiven(deferred);
  if (!all.every(isPlain)) return undefined;
  return {
    tools: all.map(({ name, description, parameters, strict }) => ({
      type: 'function',
      function: { name, description, parameters, strict: strict ?? false },
    })),
  };
}
