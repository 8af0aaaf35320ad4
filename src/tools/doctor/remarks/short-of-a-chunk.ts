import type { Measurements } from '../measurements/measurements.js';
import type { Remark } from './remark.js';

/** `chunk_size` of LMCache where nobody sets it (`lmcache/v1/config.py`). */
const CHUNK_TOKENS = 256;

/** Prompts that LMCache looked up, of which none has a whole chunk. Undefined where one has, or where something was found. */
export function shortOfChunkIn({ evidence, engineHits }: Measurements): Remark | undefined {
  const lookups = evidence.logs.flatMap(({ engine }) =>
    engine !== undefined && engine.longestLookupTokens > 0 ? [engine] : [],
  );
  const longest = Math.max(0, ...lookups.map(({ longestLookupTokens }) => longestLookupTokens));
  const [first] = lookups;
  if (first === undefined || longest >= CHUNK_TOKENS || (engineHits?.share ?? 0) > 0) return undefined;
  const why = `the prompts that LMCache looked up have ${longest} tokens and fewer, less than a chunk of ${CHUNK_TOKENS}`;
  return {
    headline: `Nothing wrong was seen: ${why}, and what is no whole chunk is neither stored nor found`,
    says: `Whether LMCache finds what it stores: ${why} (${first.first.place}), its chunk_size by default.`,
    ask: `Send two equal prompts of more than ${CHUNK_TOKENS} tokens, one after the other; for shorter ones set a smaller chunk_size (LMCACHE_CHUNK_SIZE; a multiple of the engine's block size), or save_unfull_chunk: true`,
  };
}
