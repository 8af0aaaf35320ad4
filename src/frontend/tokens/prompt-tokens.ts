import type { CatalogueGroup } from '../../fleet/catalogue/catalogue.js';

/** What a request asks to be computed, as it stands in its body. */
export type Prompt =
  /** `/v1/chat/completions`: the whole body, since more than the messages goes into the template. */
  | {
      readonly kind: 'chat';
      readonly body: Readonly<Record<string, unknown>>;
      /** Whether a number stands in it that was not kept when it was parsed: a template would print another text. */
      readonly losesNumbers?: boolean;
    }
  /** `/v1/completions`: the body, of which `prompt` is text, token ids (a long list of them as `Uint32Array`), or several of either. */
  | { readonly kind: 'completion'; readonly body: Readonly<Record<string, unknown>> };

/** Closed list of why a prompt's tokens cannot be had; also metric labels. */
export const NO_TOKENS_REASONS = [
  /** Images, audio or video stand in it: what the engine makes of them is not known. */
  'media',
  /** Several prompts in one request. */
  'several_prompts',
  /** No prompt that an engine would take: the engine says so itself. */
  'bad_prompt',
  /** Longer than is looked at. */
  'too_long',
  /** No tokenizer files, and no worker has `/tokenize`. */
  'no_tokenizer',
  /** The tokenizer, or the worker that was asked, gave an error. */
  'failed',
  /** The worker that was asked took too long, or too many were being asked. */
  'timeout',
] as const;
export type NoTokensReason = (typeof NO_TOKENS_REASONS)[number];

/** A prompt's tokens, or why there are none. */
export type PromptTokens =
  | { readonly tokens: Uint32Array; readonly reason?: undefined }
  | { readonly tokens: undefined; readonly reason: NoTokensReason };

/** EventLoop prompts into tokens for routing. */
export interface TokenSource {
  /** Never rejects; comes back at the latest when `signal` aborts. */
  tokensOf(prompt: Prompt, model: string, group: CatalogueGroup, signal: AbortSignal): Promise<PromptTokens>;
  close(): Promise<void>;
}
