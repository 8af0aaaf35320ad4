/** A prompt: tokens, or one chat message. */
export type SmallPrompt =
  | { readonly type: 'tokens'; readonly tokens: readonly number[] }
  | { readonly type: 'chat'; readonly text: string };

/** One API path of an engine that answers prompts. */
export interface PromptPath {
  readonly path: string;
  readonly takes: SmallPrompt['type'];
  /** The body that asks for one token; `user` is for the engine's log. */
  body(prompt: SmallPrompt, model: string, user: string): Readonly<Record<string, unknown>>;
}

function openAiBody(prompt: SmallPrompt, model: string, user: string): Readonly<Record<string, unknown>> {
  const asked =
    prompt.type === 'tokens'
      ? { prompt: prompt.tokens }
      : { messages: [{ role: 'user', content: prompt.text }] };
  return { model, ...asked, max_tokens: 1, temperature: 0, user };
}

/** OpenAI's completions, with tokens for a prompt. */
export const COMPLETIONS: PromptPath = { path: '/v1/completions', takes: 'tokens', body: openAiBody };

/** OpenAI's chat completions. */
export const CHAT_COMPLETIONS: PromptPath = {
  path: '/v1/chat/completions',
  takes: 'chat',
  body: openAiBody,
};
