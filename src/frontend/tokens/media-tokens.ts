import type { PromptRequest } from '../../engines/descriptor/token-endpoint.js';
import { withWord } from './media-parts.js';
import type { PromptTokens } from './prompt-tokens.js';

/** A conversation with images, sounds or videos in it. */
export type MediaPrompt = Exclude<PromptRequest, { readonly kind: 'completion' }>;

/** How the tokens of a prompt are had. */
export interface MediaTokensModules {
  /** Of a prompt with its media, from an engine that says which they are. */
  render(prompt: MediaPrompt): Promise<PromptTokens>;
  /** Of a prompt of text alone. */
  text(prompt: MediaPrompt): Promise<PromptTokens>;
}

/** Whether media stand in a prompt. */
export function hasMedia(prompt: PromptRequest): prompt is MediaPrompt {
  return prompt.media !== undefined;
}

/** Two words that share no first token in any vocabulary that has them. */
const WORDS = ['x', '0'] as const;

/**
 * The tokens of a conversation with media: all of them, with what identifies
 * the media, where an engine renders it and nothing has to be loaded from
 * elsewhere; else those before the first medium, which are the tokens that two
 * conversations have in common in which words stand for it.
 */
export async function tokensWithMedia(
  prompt: MediaPrompt,
  { render, text }: MediaTokensModules,
): Promise<PromptTokens> {
  if (prompt.media === 'inline') {
    const rendered = await render(prompt);
    // The engine refuses it, or there is no time left.
    const isFinal = rendered.reason === 'bad_prompt' || rendered.reason === 'timeout';
    if (rendered.tokens !== undefined || isFinal) return rendered;
  }
  const [first, second] = await Promise.all(WORDS.map((word) => text(withWord(prompt, word))));
  const prefix =
    first?.tokens === undefined || second?.tokens === undefined
      ? undefined
      : commonPrefix(first.tokens, second.tokens);
  return prefix === undefined
    ? { tokens: undefined, reason: 'media' }
    : { tokens: prefix, reason: 'media_prefix' };
}

/** Undefined where there is none, or where one is all of the other: then no word says where it ends. */
function commonPrefix(a: Uint32Array, b: Uint32Array): Uint32Array | undefined {
  const length = Math.min(a.length, b.length);
  let common = 0;
  while (common < length && a[common] === b[common]) common += 1;
  return common === 0 || common === length ? undefined : a.slice(0, common);
}
