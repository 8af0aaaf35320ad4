import { isGiven, isJsonObject } from '../../edge/platform/data/json-object.js';
import type { AgentRequest, ChatRequest, PromptRequest } from '../../engines/descriptor/token-endpoint.js';
import { mediaUseOf } from './media-parts.js';
import type { NoTokensReason, Prompt } from './prompt-tokens.js';

/** Bounds of a prompt that is looked at. */
export interface PromptLimits {
  /** Characters of all texts in it together. */
  readonly maxChars: number;
  /** Token ids in it, or made of it. */
  readonly maxTokens: number;
}

/** 8 Mi characters are some two million tokens: longer than any context there is. */
export const DEFAULT_PROMPT_LIMITS: PromptLimits = { maxChars: 8 * 1024 * 1024, maxTokens: 2 * 1024 * 1024 };

/** Objects, lists and values of a body that are walked through; a conversation of 10,000 messages has 50,000. */
const MAX_NODES = 500_000;
const MAX_DEPTH = 64;

/** The highest token id that fits into what a block's hash is made of. */
const MAX_TOKEN_ID = 2 ** 32 - 1;

type Body = Readonly<Record<string, unknown>>;

/** What stands in a prompt, before anything is made of it: nothing that can be used, token ids, or what a tokenizer has to turn into them. */
export type ReadPrompt =
  | { readonly kind: 'none'; readonly reason: NoTokensReason }
  | { readonly kind: 'tokens'; readonly tokens: Uint32Array }
  | PromptRequest;

/** Looks at a prompt from outside. Never throws, whatever it is. */
export function readPrompt(prompt: Prompt, limits: PromptLimits): ReadPrompt {
  const { kind, body } = prompt;
  if (kind === 'completion') return readCompletion(body, limits);
  if (prompt.losesNumbers === true) return none('no_tokenizer');
  return kind === 'chat' ? readChat(body, limits) : readAgentPrompt(kind, body, limits);
}

/** Fields by which a request goes on from what an engine keeps. */
const CONTINUING = ['conversation', 'previous_response_id'];

function readAgentPrompt(kind: AgentRequest['kind'], body: Body, { maxChars }: PromptLimits): ReadPrompt {
  if (CONTINUING.some((name) => isGiven(body[name]))) return none('continued');
  const turns = kind === 'messages' ? body['messages'] : body['input'];
  if (!isWithin(body, maxChars)) return none('too_long');
  if (kind === 'responses' && typeof turns === 'string') return { kind, body, isPlain: isPlain(body) };
  if (!Array.isArray(turns) || turns.length === 0 || !turns.every(isJsonObject)) return none('bad_prompt');
  return { kind, body, isPlain: isPlain(body), ...mediaOf(kind, turns) };
}

/** Token ids as they came; undefined when one is none. */
function readTokenIds(values: readonly unknown[]): Uint32Array | undefined {
  const tokens = new Uint32Array(values.length);
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i];
    if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > MAX_TOKEN_ID)
      return undefined;
    tokens[i] = value as number;
  }
  return tokens;
}

function readCompletion(body: Body, limits: PromptLimits): ReadPrompt {
  if (isGiven(body['prompt_embeds'])) return none('media');
  const prompt = body['prompt'];
  if (typeof prompt === 'string') return completionOf(prompt, body, limits);
  if (prompt instanceof Uint32Array) return tokensOf(prompt, body, limits);
  if (!Array.isArray(prompt) || prompt.length === 0) return none('bad_prompt');
  const [first] = prompt;
  if (typeof first === 'number') return tokensOf(prompt, body, limits);
  if (prompt.length > 1) return none('several_prompts');
  if (typeof first === 'string') return completionOf(first, body, limits);
  return Array.isArray(first) ? tokensOf(first, body, limits) : none('bad_prompt');
}

function completionOf(text: string, body: Body, { maxChars }: PromptLimits): ReadPrompt {
  if (text === '') return none('bad_prompt');
  if (text.length > maxChars) return none('too_long');
  return { kind: 'completion', text, body, isPlain: isPlain(body) && !isGiven(body['suffix']) };
}

function tokensOf(
  values: readonly unknown[] | Uint32Array,
  body: Body,
  { maxTokens }: PromptLimits,
): ReadPrompt {
  if (values.length > maxTokens) return none('too_long');
  const tokens = values instanceof Uint32Array ? values : readTokenIds(values);
  if (tokens === undefined || tokens.length === 0) return none('bad_prompt');
  // The engine would cut it, and by rules of its own.
  return isPlain(body) ? { kind: 'tokens', tokens } : none('no_tokenizer');
}

function readChat(body: Body, { maxChars }: PromptLimits): ReadPrompt {
  const messages = body['messages'];
  if (!Array.isArray(messages) || messages.length === 0) return none('bad_prompt');
  for (const message of messages) {
    if (!isJsonObject(message) || typeof message['role'] !== 'string') return none('bad_prompt');
    if (!isContent(message['content'])) return none('bad_prompt');
  }
  const rendered = [messages, body['tools'], body['documents'], body['chat_template_kwargs']];
  if (!isWithin(rendered, maxChars)) return none('too_long');
  return {
    kind: 'chat',
    messages,
    body,
    isPlain: isPlain(body) && !isGiven(body['input_ids']),
    ...mediaOf('chat', messages),
  };
}

function mediaOf(
  kind: ChatRequest['kind'] | AgentRequest['kind'],
  turns: readonly Body[],
): Pick<ChatRequest, 'media'> {
  const media = mediaUseOf(kind, turns);
  return media === undefined ? {} : { media };
}

/**
 * What changes a prompt's tokens after they are made, or replaces them: vLLM
 * truncates by `truncate_prompt_tokens`, and a decode worker takes the tokens that
 * came with `kv_transfer_params`.
 */
function isPlain(body: Body): boolean {
  const transfer = body['kv_transfer_params'];
  return (
    !(isJsonObject(transfer) && isGiven(transfer['prompt_token_ids'])) &&
    !isGiven(body['truncate_prompt_tokens'])
  );
}

function isContent(content: unknown): boolean {
  if (!isGiven(content) || typeof content === 'string') return true;
  return Array.isArray(content) && content.every((part) => typeof part === 'string' || isJsonObject(part));
}

function none(reason: NoTokensReason): ReadPrompt {
  return { kind: 'none', reason };
}

/** Whether it has at most so many characters, and is no larger or deeper than is looked at. */
function isWithin(root: unknown, maxChars: number): boolean {
  let chars = 0;
  let nodes = 0;
  const walk = (value: unknown, depth: number): boolean => {
    nodes += 1;
    if (typeof value === 'string') chars += value.length;
    if (nodes > MAX_NODES || chars > maxChars || depth > MAX_DEPTH) return false;
    if (typeof value !== 'object' || value === null) return true;
    if (Array.isArray(value)) return value.every((item) => walk(item, depth + 1));
    for (const [key, item] of Object.entries(value)) {
      chars += key.length;
      if (!walk(item, depth + 1)) return false;
    }
    return true;
  };
  return walk(root, 0);
}
