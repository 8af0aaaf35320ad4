import { EngineKind } from '../../../core/contract/enums.js';

/** Value of `user` in every request of the canary, by which an operator finds it in an engine's log. */
const CANARY_USER = 'kv-accord-canary';

/** A prompt: tokens, or a chat message of so many words. */
export type CanaryPrompt =
  | { readonly type: 'tokens'; readonly tokens: readonly number[] }
  | { readonly type: 'chat'; readonly text: string };

/** One API path of an engine that answers prompts. */
export interface CanaryDoor {
  readonly path: string;
  readonly takes: CanaryPrompt['type'];
}

const COMPLETIONS: CanaryDoor = { path: '/v1/completions', takes: 'tokens' };
const CHAT: CanaryDoor = { path: '/v1/chat/completions', takes: 'chat' };
const GENERATE: CanaryDoor = { path: '/generate', takes: 'tokens' };

/** The paths that an engine serves, the one that tells most of its cache first; empty for an engine that is not known. */
export function canaryDoors(engineKind: EngineKind): readonly CanaryDoor[] {
  switch (engineKind) {
    case EngineKind.VLLM:
    case EngineKind.TENSORRT_LLM:
      return [COMPLETIONS, CHAT];
    case EngineKind.SGLANG:
      return [GENERATE, COMPLETIONS, CHAT];
    default:
      return [];
  }
}

/** The body that asks for one token. */
export function canaryBody(door: CanaryDoor, prompt: CanaryPrompt, model: string): Record<string, unknown> {
  if (door.path === GENERATE.path) {
    const input = prompt.type === 'tokens' ? { input_ids: prompt.tokens } : { text: prompt.text };
    return { ...input, sampling_params: { max_new_tokens: 1, temperature: 0 } };
  }
  const asked =
    prompt.type === 'tokens'
      ? { prompt: prompt.tokens }
      : { messages: [{ role: 'user', content: prompt.text }] };
  return { model, ...asked, max_tokens: 1, temperature: 0, user: CANARY_USER };
}

/** Where an engine says which tokens a chat message becomes, in the order in which they are tried. */
export function renderAsks(
  engineKind: EngineKind,
  text: string,
  model: string,
): readonly { readonly path: string; readonly body: Record<string, unknown> }[] {
  const messages = [{ role: 'user', content: text }];
  switch (engineKind) {
    case EngineKind.VLLM:
      return [
        { path: '/v1/chat/completions/render', body: { model, messages } },
        { path: '/tokenize', body: { model, messages } },
      ];
    case EngineKind.SGLANG:
      return [{ path: '/v1/tokenize', body: { model, messages } }];
    default:
      return [];
  }
}

/** What an engine counted of one request. */
export interface CanaryCounts {
  readonly promptTokens: number | undefined;
  readonly cachedTokens: number | undefined;
}

/** Reads the counts of an answer: OpenAI's `usage`, or SGLang's `meta_info`. */
export function readCounts(body: string): CanaryCounts {
  const answer = parse(body);
  const usage = recordOf(answer['usage']);
  const meta = recordOf(Array.isArray(answer['meta_info']) ? answer['meta_info'][0] : answer['meta_info']);
  return {
    promptTokens: count(usage['prompt_tokens']) ?? count(meta['prompt_tokens']),
    cachedTokens:
      count(recordOf(usage['prompt_tokens_details'])['cached_tokens']) ?? count(meta['cached_tokens']),
  };
}

/** Reads the tokens of a rendering; undefined when there are none, or more than `maxTokens`. */
export function readTokens(body: string, maxTokens: number): readonly number[] | undefined {
  const parsed: unknown = tryParse(body);
  const answer = recordOf(Array.isArray(parsed) ? parsed[0] : parsed);
  const tokens: unknown = answer['token_ids'] ?? answer['tokens'];
  if (!Array.isArray(tokens) || tokens.length === 0 || tokens.length > maxTokens) return undefined;
  const ids = tokens.filter(isTokenId);
  return ids.length === tokens.length ? ids : undefined;
}

function isTokenId(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff;
}

function parse(body: string): Record<string, unknown> {
  return recordOf(tryParse(body));
}

function tryParse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= 0xffff_ffff
    ? value
    : undefined;
}
