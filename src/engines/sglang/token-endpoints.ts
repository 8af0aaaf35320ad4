import {
  PLAIN_KINDS,
  type PromptRequest,
  type TokenEndpoint,
  whatMatters,
} from '../descriptor/token-endpoint.js';

/** Where SGLang (0.5.23) turns prompts into tokens. */
export const SGLANG_TOKEN_ENDPOINTS: readonly TokenEndpoint[] = [
  {
    kinds: PLAIN_KINDS,
    path: () => '/v1/tokenize',
    tokenField: 'tokens',
    takesAll: false,
    mayDiffer: false,
    body: tokenizeBody,
    detokenize: { path: '/v1/detokenize', textField: 'text' },
  },
];

/**
 * `TokenizeRequest` of SGLang 0.5.23 passes every field on to a chat request.
 * Three would make it something else than that: with `add_generation_prompt`
 * it renders otherwise than its chat endpoint, which has no such field.
 */
function tokenizeBody(request: PromptRequest, model: string): Record<string, unknown> {
  if (request.kind === 'completion') return { model, prompt: request.text };
  const { add_generation_prompt: _a, add_special_tokens: _b, prompt: _c, ...body } = whatMatters(request);
  return { ...body, model };
}
