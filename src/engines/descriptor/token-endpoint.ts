import type { MediaItem } from '../../core/blocks/media-identity.js';

type Body = Readonly<Record<string, unknown>>;

/** Images, sounds or videos of a request: all in its body (`inline`), or some that an engine would have to load from elsewhere. */
export type MediaUse = 'inline' | 'linked';

/** A chat of OpenAI's API. */
export interface ChatRequest {
  readonly kind: 'chat';
  readonly messages: readonly Body[];
  readonly body: Body;
  /** Whether the messages and the template alone make its tokens: nothing is cut off or put in afterwards. */
  readonly isPlain: boolean;
  /** Absent where there are none. */
  readonly media?: MediaUse;
}

/** A request of OpenAI's Responses or of Anthropic's Messages, which engines make a chat of, each in its own way. */
export interface AgentRequest {
  readonly kind: 'messages' | 'responses';
  readonly body: Body;
  readonly isPlain: boolean;
  /** Absent where there are none. */
  readonly media?: MediaUse;
}

/** A request whose tokens are wanted. */
export type PromptRequest =
  | {
      readonly kind: 'completion';
      readonly text: string;
      readonly body: Body;
      readonly isPlain: boolean;
      readonly media?: never;
    }
  | ChatRequest
  | AgentRequest;

/** How a prompt stands in a body. */
export type PromptKind = PromptRequest['kind'];

/** What engines answer everywhere where they answer at all. */
export const PLAIN_KINDS: readonly PromptKind[] = ['chat', 'completion'];

/** An endpoint of an engine that turns a prompt into tokens. */
export interface TokenEndpoint {
  /** The requests that it takes. */
  readonly kinds: readonly PromptKind[];
  /** Its path for one of its kinds. */
  path(kind: PromptKind): string;
  /** The field of the answer, or of its only member, that holds the tokens. */
  readonly tokenField: 'tokens' | 'token_ids';
  /**
   * True where it takes every request as it is: its body is `wholeRequest`, but for media. Else it takes only plain ones
   * (`PromptRequest.isPlain`).
   */
  readonly takesAll: boolean;
  /**
   * True where other versions have another endpoint under this path: an
   * answer without tokens then means that this one is not there.
   */
  readonly mayDiffer: boolean;
  /** The body that asks for the tokens of a request under `model`. */
  body(request: PromptRequest, model: string): Body;
  /**
   * Which media stand for which tokens of an answer, in order; undefined where
   * it does not say. Absent: no request with media is asked about there.
   */
  readMedia?(answer: unknown): readonly MediaItem[] | undefined;
  /** Turns token ids back into text; absent where that cannot be asked. */
  readonly detokenize?: { readonly path: string; readonly textField: string };
}

/**
 * Fields of a request that say how to answer, not what was asked. They are left
 * out, so that a wrong one is no reason to have no tokens, and so that requests
 * that differ in them alone are known again.
 */
const ANSWER_FIELDS: ReadonlySet<string> = new Set([
  'best_of',
  'cache_salt',
  'echo',
  'frequency_penalty',
  'ignore_eos',
  'include',
  'logit_bias',
  'logprobs',
  'metadata',
  'min_p',
  'min_tokens',
  'n',
  'presence_penalty',
  'priority',
  'prompt_cache_key',
  'prompt_logprobs',
  'repetition_penalty',
  'request_id',
  'return_token_ids',
  'return_tokens_as_token_ids',
  'safety_identifier',
  'seed',
  'service_tier',
  'session_id',
  'stop',
  'stop_sequences',
  'stop_token_ids',
  'store',
  'stream',
  'stream_options',
  'temperature',
  'top_k',
  'top_logprobs',
  'top_p',
  'use_beam_search',
  'user',
]);

/** Where a prompt is cut to what is left of the context, they say how much that is. */
const LENGTH_FIELDS: ReadonlySet<string> = new Set([
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
]);

const ANSWER_AND_LENGTH_FIELDS: ReadonlySet<string> = new Set([...ANSWER_FIELDS, ...LENGTH_FIELDS]);

/** Fields of a request that its tokens cannot depend on, whatever their values. */
export function withoutMeaning({ kind, isPlain }: PromptRequest): ReadonlySet<string> {
  // Anthropic's API asks for a length always.
  return isPlain && kind !== 'messages' ? ANSWER_AND_LENGTH_FIELDS : ANSWER_FIELDS;
}

/** All of a request that its tokens can depend on. */
export function whatMatters(request: PromptRequest): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  const dropped = withoutMeaning(request);
  for (const [name, value] of Object.entries(request.body))
    if (value !== null && !dropped.has(name)) kept[name] = value;
  return kept;
}

/** The body that asks a server for all of a request that its tokens can depend on, under `model`. */
export function wholeRequest(request: PromptRequest, model: string): Record<string, unknown> {
  return { ...whatMatters(request), model };
}

/** The fields of `names` that a body has with a value. */
export function given(body: Body, names: readonly string[]): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const name of names) {
    const value = body[name];
    if (value !== undefined && value !== null) found[name] = value;
  }
  return found;
}
