/** What goes between the process and the thread that tokenises. */
import type { NoTokensReason } from './prompt-tokens.js';

/** What the thread is started with: the texts of the files. */
export interface TokenizingData {
  readonly tokenizer: string;
  readonly config: string;
  /** By name; empty when the folder has none. */
  readonly templates: Readonly<Record<string, string>>;
  readonly maxChars: number;
  readonly maxTokens: number;
  readonly maxRememberedBytes: number;
}

/** One prompt. */
export type TokenizingJob =
  | { readonly kind: 'chat'; readonly body: Readonly<Record<string, unknown>> }
  | { readonly kind: 'completion'; readonly text: string; readonly addSpecialTokens: boolean };

/** What comes back: first that it is ready or why it cannot be, then one result for each job, in their order. */
export type TokenizingMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'refused'; readonly file: string; readonly problem: string }
  | { readonly kind: 'tokens'; readonly tokens: Uint32Array<ArrayBuffer> }
  | { readonly kind: 'none'; readonly reason: NoTokensReason; readonly problem: string };
