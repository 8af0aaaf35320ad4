import type { EngineEvent } from './engine-event.js';
import type { MsgpackReader } from './msgpack-reader.js';

/**
 * vLLM names beside a store's tokens those behind each of its blocks that the block's hash covers as well
 * (`lookahead_token_ids` of `BlockStored` in `distributed/kv_events.py`, since 0.33, with EAGLE and MTP). One for each
 * block makes the store the same as one of pairs of tokens. The reader stands where it stood before.
 */
export function joinLookahead(reader: MsgpackReader, event: EngineEvent): void {
  if (event.lookaheadAt < 0 || event.type !== 'stored' || event.bigram) return;
  const end = reader.offset;
  reader.offset = event.lookaheadAt;
  const blocks = reader.readArrayHeader();
  for (let block = 0; block < blocks; block++) {
    const start = reader.offset;
    const count = reader.kind === 'array' ? reader.readArrayHeader() : 0;
    if (block === 0) event.lookaheadTokens = count;
    const isNamed = count > 0 && count === event.lookaheadTokens;
    if (!isNamed || (count === 1 && !joinToken(reader, event, block, block === blocks - 1)))
      event.unidentifiedFrom = Math.min(event.unidentifiedFrom, block);
    reader.offset = start;
    reader.skip();
  }
  if (event.lookaheadTokens === 1) {
    event.bigram = true;
    event.tokenCount += 1;
    if (blocks !== event.hashCount) event.pairsJoin = false;
  }
  reader.offset = end;
}

/** The token behind a block is the first of the next one; behind the last block it stands nowhere else. False for what is no token. */
function joinToken(reader: MsgpackReader, event: EngineEvent, block: number, isLast: boolean): boolean {
  if (reader.kind !== 'integer') return false;
  const id = reader.readInteger();
  if (id < 0 || id > 0xffff_ffff) return false;
  const { tokens, tokenCount } = event;
  const at = (block + 1) * event.tokensPerBlock;
  if (isLast) tokens[tokenCount] = id;
  else if (at < tokenCount && tokens[at] !== id) event.pairsJoin = false;
  return true;
}
