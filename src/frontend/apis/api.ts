import type { IncomingHttpHeaders } from 'node:http';
import type { ApiPath } from '../../core/contract/wire/api-paths.js';
import type { PromptKind } from '../../engines/descriptor/token-endpoint.js';
import { ANTHROPIC_SHAPE, type ApiShape, OPENAI_SHAPE, RESPONSES_SHAPE } from '../errors/api-shapes.js';

/** One path on which engines compute something. */
export interface Api {
  /** As clients ask for it, and as it is counted: `/v1/chat/completions`. */
  readonly path: ApiPath | '/v1/responses/{id}' | 'other';
  /** What a body is; the name of the model stands in it. Default `json`. */
  readonly reads?: 'json' | 'multipart';
  /** How refusals look, and how a stream ends that breaks off. */
  readonly shape: ApiShape;
  /** How its prompt is read where a worker's cache can help with it; absent where load alone decides. */
  readonly prompt?: PromptKind;
  /** Events that a stream begins with before anything was computed. Default 0. */
  readonly eventsBeforeTokens?: number;
  /** True where an engine's HTTP server answers by itself: such an answer says nothing of the engine. Default false. */
  readonly isAnsweredByServer?: boolean;
  /** For people. */
  readonly what: string;
}

const openAi = (path: Api['path'], what: string, more: Partial<Api> = {}): Api => ({
  path,
  shape: OPENAI_SHAPE,
  what,
  ...more,
});

/** Chats: what most clients ask. */
export const CHAT: Api = openAi('/v1/chat/completions', 'chat, streamed or not', { prompt: 'chat' });

/** OpenAI's Responses: some engines keep what they answered, for the requests that go on from it. */
export const RESPONSES: Api = openAi('/v1/responses', "OpenAI's responses, streamed or not", {
  shape: RESPONSES_SHAPE,
  prompt: 'responses',
  // `response.created` and `response.in_progress`.
  eventsBeforeTokens: 2,
});

/** A response that an engine keeps, which is asked for by its id. */
export const KEPT_RESPONSE: Api = openAi('/v1/responses/{id}', 'a response that a worker keeps', {
  shape: RESPONSES_SHAPE,
  isAnsweredByServer: true,
});

/** All paths that are answered by engines, each asked with POST. */
export const APIS: readonly Api[] = [
  CHAT,
  openAi('/v1/completions', 'completions, also of token ids', { prompt: 'completion' }),
  RESPONSES,
  openAi('/v1/messages', "Anthropic's messages, streamed or not", {
    shape: ANTHROPIC_SHAPE,
    prompt: 'messages',
  }),
  openAi('/v1/messages/count_tokens', 'tokens of a message', {
    shape: ANTHROPIC_SHAPE,
    isAnsweredByServer: true,
  }),
  openAi('/v1/embeddings', 'embeddings'),
  openAi('/v1/score', 'scores of pairs of texts'),
  openAi('/score', 'scores of pairs of texts, with no version in the path'),
  openAi('/v1/rerank', 'documents in the order in which they fit'),
  openAi('/v2/rerank', "documents in the order in which they fit, by the path of Cohere's version 2"),
  openAi('/rerank', 'documents in the order in which they fit, with no version in the path'),
  openAi('/v1/audio/transcriptions', 'speech to text', { reads: 'multipart' }),
  openAi('/v1/audio/translations', 'speech to English text', { reads: 'multipart' }),
  openAi('/v1/audio/speech', 'text to speech'),
  openAi('/tokenize', 'token ids of a prompt', { isAnsweredByServer: true }),
  openAi('/detokenize', 'text of token ids', { isAnsweredByServer: true }),
  openAi('/v1/tokenize', "token ids of a prompt, by SGLang's path", { isAnsweredByServer: true }),
  openAi('/v1/detokenize', "text of token ids, by SGLang's path", { isAnsweredByServer: true }),
];

/** Every path that is not in the list: its requests are sent on as they are, where something else is in front of the engines. */
export const OTHER_PATH: Api = openAi('other', 'paths of no API that is known here');

const BY_PATH: ReadonlyMap<string, Api> = new Map(APIS.map((api) => [api.path, api]));

/** The API of a path; undefined where it is of none. */
export function findApi(path: string): Api | undefined {
  return BY_PATH.get(path);
}

/**
 * How refusals look on a path. On paths of no API, and on those that both have (`/v1/models`), they are Anthropic's for who
 * sends `anthropic-version`, as Anthropic's clients do with each request, and OpenAI's for all others.
 */
export function shapeOf(path: string, headers: IncomingHttpHeaders): ApiShape {
  const api = BY_PATH.get(path);
  if (api !== undefined) return api.shape;
  const isAnthropic = path.startsWith('/v1/messages/') || headers['anthropic-version'] !== undefined;
  return isAnthropic ? ANTHROPIC_SHAPE : OPENAI_SHAPE;
}

/** Whether every engine that generates has the path: chats and completions. Of the others it is not known who serves them. */
export function isEverywhere({ prompt }: Api): boolean {
  return prompt === 'chat' || prompt === 'completion';
}
