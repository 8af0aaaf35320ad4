import type { AskedPrompt } from '../../src/fleet/indexer/index/asked-index.js';

/** A prompt that came in hashes: packed little-endian u64, chained, of blocks of 32 tokens. */
export function askedPrompt(sequenceHashes: Uint8Array): AskedPrompt {
  return { sequenceHashes, tokenCount: 32 * (sequenceHashes.length / 8), isOpenEnded: true };
}
