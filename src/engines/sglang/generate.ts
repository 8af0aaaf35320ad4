import type { PromptPath } from '../descriptor/prompt-path.js';

/** SGLang's own API, whose answers count cached tokens by default. */
export const GENERATE: PromptPath = {
  path: '/generate',
  takes: 'tokens',
  body(prompt) {
    const input = prompt.type === 'tokens' ? { input_ids: prompt.tokens } : { text: prompt.text };
    return { ...input, sampling_params: { max_new_tokens: 1, temperature: 0 } };
  },
};
