import type { MediaItem } from '../../core/blocks/media-identity.js';
import type { JsonScan } from '../../edge/platform/data/json-scan.js';
import type { PromptKind } from '../../engines/descriptor/token-endpoint.js';
import type { CatalogueGroup } from '../../fleet/catalogue/catalogue.js';

/** What a request asks to be computed, as it stands in its body. */
export interface Prompt {
  /** Which API's body it is. */
  readonly kind: PromptKind;
  /** All of it, since more than the messages goes into a template. A long list of token ids in `prompt` is a `Uint32Array`. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Whether a number stands in it that was not kept when it was parsed: a template would print another text. */
  readonly losesNumbers?: boolean;
  /** The text that `body` was parsed of; absent where that is not known, or not all of it was parsed. */
  readonly raw?: RawBody | undefined;
}

/** A body as it came. */
export interface RawBody {
  readonly bytes: Buffer;
  /** What was seen in it while it came. */
  readonly scan: JsonScan;
}

/** Closed list of why a prompt's tokens cannot be had, or not all; also metric labels. */
export const NO_TOKENS_REASONS = [
  /** Images, audio or video stand in it: what the engine makes of them is not known, nor what stands before. */
  'media',
  /** The same, but what stands before the first of them is known, and counts. */
  'media_prefix',
  /** Several prompts in one request. */
  'several_prompts',
  /** No prompt that an engine would take: the engine says so itself. */
  'bad_prompt',
  /** It goes on from what an engine keeps, which nobody else knows. */
  'continued',
  /** Longer than is looked at. */
  'too_long',
  /** No tokenizer files, and no worker has `/tokenize`. */
  'no_tokenizer',
  /** The tokenizer, or the worker that was asked, gave an error. */
  'failed',
  /** The worker that was asked took too long, or too many were being asked. */
  'timeout',
] as const;
/** One of these reasons. */
export type NoTokensReason = (typeof NO_TOKENS_REASONS)[number];

/** A prompt's tokens, or why there are none. */
export type PromptTokens =
  | {
      readonly tokens: Uint32Array;
      /** The images, sounds and videos in it, in order; absent where there are none. */
      readonly media?: readonly MediaItem[];
      readonly reason?: undefined;
    }
  /** Its beginning. */
  | { readonly tokens: Uint32Array; readonly media?: undefined; readonly reason: 'media_prefix' }
  | { readonly tokens: undefined; readonly reason: NoTokensReason };

/** Turns prompts into tokens for routing. */
export interface TokenSource {
  /** Never rejects; comes back at the latest when `signal` aborts. */
  tokensOf(prompt: Prompt, model: string, group: CatalogueGroup, signal: AbortSignal): Promise<PromptTokens>;
  close(): Promise<void>;
}

/** No tokens, for this reason. */
export function noTokens(reason: NoTokensReason): PromptTokens {
  return { tokens: undefined, reason };
}
