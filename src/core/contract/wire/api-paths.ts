/**
 * Paths of engines that a frontend passes requests on to, each asked with POST.
 * A worker's report says which of them its engine has (`Engine.apis`).
 */
export const API_PATHS = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/responses',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/embeddings',
  '/v1/score',
  '/score',
  '/v1/rerank',
  '/v2/rerank',
  '/rerank',
  '/v1/audio/transcriptions',
  '/v1/audio/translations',
  '/v1/audio/speech',
  '/tokenize',
  '/detokenize',
  '/v1/tokenize',
  '/v1/detokenize',
] as const;

/** One of `API_PATHS`. */
export type ApiPath = (typeof API_PATHS)[number];
