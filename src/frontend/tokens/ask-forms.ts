import { isRecord, readTokenIds, type TextPrompt } from './read-prompt.js';

/**
 * How an engine is asked for a prompt's tokens.
 * - `render`: vLLM's own `/v1/chat/completions/render` and `/v1/completions/render` (0.32, with
 *   `--enable-scale-out`): it takes the request itself, so nothing can be forgotten.
 * - `vllm`: `/tokenize`, whose fields are some of the request's.
 * - `sglang`: `/v1/tokenize` of SGLang 0.5.23, which takes all of a chat request.
 */
export type AskForm = 'render' | 'vllm' | 'sglang';

/** What is sent where. */
export interface Ask {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
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
  'logit_bias',
  'logprobs',
  'metadata',
  'min_p',
  'min_tokens',
  'n',
  'presence_penalty',
  'priority',
  'prompt_logprobs',
  'repetition_penalty',
  'request_id',
  'return_token_ids',
  'return_tokens_as_token_ids',
  'seed',
  'service_tier',
  'session_id',
  'stop',
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
const LENGTH_FIELDS: ReadonlySet<string> = new Set(['max_tokens', 'max_completion_tokens']);

/** Makes the request that asks for the tokens of `prompt` under `model`; undefined where this form cannot ask. */
export function askFor(form: AskForm, prompt: TextPrompt, model: string): Ask | undefined {
  if (form === 'render') return renderAsk(prompt, model);
  if (!prompt.isPlain) return undefined;
  return form === 'vllm' ? vllmAsk(prompt, model) : sglangAsk(prompt, model);
}

/** All of a request that its tokens can depend on. */
export function whatMatters({ body, isPlain }: TextPrompt): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    if (value === null || ANSWER_FIELDS.has(name) || (isPlain && LENGTH_FIELDS.has(name))) continue;
    kept[name] = value;
  }
  return kept;
}

/** Reads the tokens out of an answer; undefined when there are none, or more than `maxTokens`. */
export function tokensOfAnswer(form: AskForm, answer: unknown, maxTokens: number): Uint32Array | undefined {
  const one = form === 'render' && Array.isArray(answer) && answer.length === 1 ? answer[0] : answer;
  if (!isRecord(one)) return undefined;
  const tokens = one[tokenFieldOf(form)];
  const isList = tokens instanceof Uint32Array || Array.isArray(tokens);
  if (!isList || tokens.length > maxTokens) return undefined;
  return Array.isArray(tokens) ? readTokenIds(tokens) : tokens;
}

/** The field of an answer that holds the tokens. */
export function tokenFieldOf(form: AskForm): 'token_ids' | 'tokens' {
  return form === 'render' ? 'token_ids' : 'tokens';
}

function renderAsk(prompt: TextPrompt, model: string): Ask {
  const path = prompt.kind === 'chat' ? '/v1/chat/completions/render' : '/v1/completions/render';
  return { path, body: { ...whatMatters(prompt), model } };
}

/**
 * Fields by `vllm/entrypoints/serve/tokenize/protocol.py` of 0.32. What
 * `/tokenize` has no field for goes to the template as the chat endpoint passes
 * it on (`ChatCompletionRequest.build_chat_params`).
 */
function vllmAsk(prompt: TextPrompt, model: string): Ask {
  const { body } = prompt;
  if (prompt.kind === 'completion')
    return {
      path: '/tokenize',
      body: { model, prompt: prompt.text, ...given(body, ['add_special_tokens']) },
    };
  const fields = [
    'add_generation_prompt',
    'add_special_tokens',
    'chat_template',
    'continue_final_message',
    'tools',
  ];
  const kwargs = templateKwargs(body);
  return {
    path: '/tokenize',
    body: {
      model,
      messages: prompt.messages,
      ...given(body, fields),
      ...(Object.keys(kwargs).length === 0 ? {} : { chat_template_kwargs: kwargs }),
    },
  };
}

/** The variables that vLLM gives to a template beside messages and tools. */
export function templateKwargs(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const own = isRecord(body['chat_template_kwargs']) ? body['chat_template_kwargs'] : {};
  const kwargs: Record<string, unknown> = { ...own, ...given(body, ['documents', 'reasoning_effort']) };
  const effort = body['reasoning_effort'];
  if (effort !== undefined && effort !== null && !('enable_thinking' in own))
    kwargs['enable_thinking'] = effort !== 'none';
  return kwargs;
}

/**
 * `TokenizeRequest` of SGLang 0.5.23 passes every field on to a chat request.
 * Three would make it something else than that: with `add_generation_prompt`
 * it renders otherwise than its chat endpoint, which has no such field.
 */
function sglangAsk(prompt: TextPrompt, model: string): Ask {
  const path = '/v1/tokenize';
  if (prompt.kind === 'completion') return { path, body: { model, prompt: prompt.text } };
  const { add_generation_prompt: _a, add_special_tokens: _b, prompt: _c, ...body } = whatMatters(prompt);
  return { path, body: { ...body, model } };
}

function given(body: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const name of names) {
    const value = body[name];
    if (value !== undefined && value !== null) found[name] = value;
  }
  return found;
}
