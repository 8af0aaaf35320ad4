import type { BlockChange } from '../../../core/relay/relay.js';

/** Changes of one message; a reader takes sixteen times that. */
const MAX_CHANGES = 4_096;

/** Bytes of hashes of one message: as many as one change has at most, and half of what a reader takes. */
const MAX_HASH_BYTES = 8 * 65_536;

/**
 * The changes of one batch in parts that fit into one message each. A reader
 * refuses a message that is larger, and would be given the same again whenever
 * it resumed.
 */
export function cutChanges(changes: readonly BlockChange[]): readonly (readonly BlockChange[])[] {
  const parts: BlockChange[][] = [];
  let part: BlockChange[] = [];
  let bytes = 0;
  for (const change of changes) {
    const size = change.type === 'cleared' ? 0 : change.sequenceHashes.length;
    if (part.length > 0 && (part.length >= MAX_CHANGES || bytes + size > MAX_HASH_BYTES)) {
      parts.push(part);
      part = [];
      bytes = 0;
    }
    part.push(change);
    bytes += size;
  }
  if (part.length > 0) parts.push(part);
  return parts;
}
