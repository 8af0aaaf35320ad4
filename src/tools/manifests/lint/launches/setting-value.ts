import type { Word } from '../shell/words.js';
import type { Span } from '../text/span.js';

/** A setting of a process, where it is written. */
export interface SettingValue {
  /** Undefined when the manifest does not have it. */
  readonly value: string | undefined;
  /** What is known of a value that is not known as a whole. */
  readonly known?: NonNullable<Word['known']>;
  readonly span: Span;
  readonly how: 'flag' | 'variable' | 'engine-yaml';
  /** As it is written: `--block-size`, `DYN_KV_CACHE_BLOCK_SIZE`, `tokens_per_block`. */
  readonly name: string;
}
