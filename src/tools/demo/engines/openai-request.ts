import { isJsonObject } from '../../../edge/platform/data/json-object.js';
import { type ChatMessage, tokensOfChat, tokensOfText } from './word-tokens.js';

/** What a simulated engine is asked to compute. */
export interface EngineRequest {
  readonly kind: 'chat' | 'completion';
  readonly tokenIds: readonly number[];
  /** Tokens to generate. */
  readonly maxTokens: number;
  readonly isStream: boolean;
  /** Whether a stream ends with the usage. */
  readonly includesUsage: boolean;
  /** vLLM's `kv_transfer_params`, as they came; undefined for none. */
  readonly transfer: Readonly<Record<string, unknown>> | undefined;
  /** SGLang's `bootstrap_room`; undefined for none. */
  readonly bootstrapRoom: string | undefined;
}

/** Tokens of an answer: what a client gets that names no number, and the most that any client gets. */
const DEFAULT_ANSWER_TOKENS = 16;
const MAX_ANSWER_TOKENS = 256;

/** Reads the body of `/v1/chat/completions` or `/v1/completions`, or what `/tokenize` shares with them; undefined when it is none. */
export function readEngineRequest(body: unknown): EngineRequest | undefined {
  if (!isJsonObject(body)) return undefined;
  const { messages, prompt, stream, stream_options: streamOptions } = body;
  const tokenIds = messages === undefined ? tokensOfPrompt(prompt) : tokensOfMessages(messages);
  if (tokenIds === undefined) return undefined;
  const wanted = body['max_completion_tokens'] ?? body['max_tokens'] ?? DEFAULT_ANSWER_TOKENS;
  if (typeof wanted !== 'number' || !(wanted >= 1)) return undefined;
  return {
    kind: messages === undefined ? 'completion' : 'chat',
    tokenIds,
    maxTokens: Math.min(Math.floor(wanted), MAX_ANSWER_TOKENS),
    isStream: stream === true,
    includesUsage: isJsonObject(streamOptions) && streamOptions['include_usage'] === true,
    transfer: isJsonObject(body['kv_transfer_params']) ? body['kv_transfer_params'] : undefined,
    bootstrapRoom: body['bootstrap_room'] === undefined ? undefined : String(body['bootstrap_room']),
  };
}

/** The model that a body names; undefined where it names none. */
export function modelOf(body: unknown): unknown {
  return isJsonObject(body) ? body['model'] : undefined;
}

function tokensOfPrompt(prompt: unknown): readonly number[] | undefined {
  if (typeof prompt === 'string') return tokensOfText(prompt);
  return Array.isArray(prompt) && prompt.every((id) => Number.isSafeInteger(id) && id >= 0)
    ? prompt
    : undefined;
}

function tokensOfMessages(messages: unknown): readonly number[] | undefined {
  return Array.isArray(messages) && messages.length > 0 && messages.every(isMessage)
    ? tokensOfChat(messages)
    : undefined;
}

/** Content of several parts is for engines that see images. */
function isMessage(value: unknown): value is ChatMessage {
  return isJsonObject(value) && typeof value['role'] === 'string' && typeof value['content'] === 'string';
}
