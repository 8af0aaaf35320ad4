import { templateKwargs } from '../descriptor/template-kwargs.js';
import {
  given,
  PLAIN_KINDS,
  type PromptRequest,
  type TokenEndpoint,
  wholeRequest,
} from '../descriptor/token-endpoint.js';
import { readFeatures } from './render-features.js';

/** With `--enable-scale-out` (0.32): it takes the request itself, so nothing can be forgotten. */
const RENDER: TokenEndpoint = {
  kinds: PLAIN_KINDS,
  path: (kind) => (kind === 'chat' ? '/v1/chat/completions/render' : '/v1/completions/render'),
  tokenField: 'token_ids',
  takesAll: true,
  // An older vLLM renders in another shape.
  mayDiffer: true,
  // Without the pixels: an image's are some hundred times its file.
  body: (request, model) => ({
    ...wholeRequest(request, model),
    ...(request.media === undefined ? {} : { mm_payload: 'none' }),
  }),
  readMedia: readFeatures,
};

/** The same for Anthropic's Messages. It renders `thinking` that is switched off otherwise than the server may. */
const RENDER_MESSAGES: TokenEndpoint = { ...RENDER, kinds: ['messages'], path: () => '/v1/messages/render' };

/** The same for OpenAI's Responses. */
const RENDER_RESPONSES: TokenEndpoint = {
  ...RENDER,
  kinds: ['responses'],
  path: () => '/v1/responses/render',
};

/** Its fields are some of the request's. */
const TOKENIZE: TokenEndpoint = {
  kinds: PLAIN_KINDS,
  path: () => '/tokenize',
  tokenField: 'tokens',
  takesAll: false,
  mayDiffer: false,
  body: tokenizeBody,
  detokenize: { path: '/detokenize', textField: 'prompt' },
};

/** Where vLLM turns prompts into tokens. */
export const VLLM_TOKEN_ENDPOINTS: readonly TokenEndpoint[] = [
  RENDER,
  TOKENIZE,
  RENDER_MESSAGES,
  RENDER_RESPONSES,
];

/** Fields of a chat request that `/tokenize` has too. */
const CHAT_FIELDS = [
  'add_generation_prompt',
  'add_special_tokens',
  'chat_template',
  'continue_final_message',
  'tools',
];

/**
 * Fields by `vllm/entrypoints/serve/tokenize/protocol.py` of 0.32. What
 * `/tokenize` has no field for goes to the template as the chat endpoint passes
 * it on (`ChatCompletionRequest.build_chat_params`).
 */
function tokenizeBody(request: PromptRequest, model: string): Record<string, unknown> {
  const { body } = request;
  if (request.kind === 'completion')
    return { model, prompt: request.text, ...given(body, ['add_special_tokens']) };
  if (request.kind !== 'chat') throw new Error(`/tokenize takes no ${request.kind}`);
  const kwargs = templateKwargs(body);
  return {
    model,
    messages: request.messages,
    ...given(body, CHAT_FIELDS),
    ...(Object.keys(kwargs).length === 0 ? {} : { chat_template_kwargs: kwargs }),
  };
}
