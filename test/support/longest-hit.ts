/**
 * A second way to find how much of a prompt an engine has cached, for
 * comparison: written from the documentation of vLLM's hybrid KV cache manager
 * (docs/design/hybrid_kv_cache_manager.md), with nothing in common with the
 * product. It asks of every length, from the longest on, which token positions
 * each group would have to have, and whether it has the blocks over them.
 */

/** One table of blocks, and what is in it. */
export interface TableOfBlocks {
  readonly kind: 'full' | 'sliding' | 'chunked' | 'state';
  readonly tokensPerBlock: number;
  /** The width of a sliding window, or of a chunk of local attention. */
  readonly windowTokens?: number;
  /** Whether the block of this number of the prompt, from 0 on, is there. */
  readonly holds: (block: number) => boolean;
  /** EAGLE or MTP: of a hit in this table the last block is computed again. */
  readonly computesLastAgain?: boolean;
}

/** What is asked. */
export interface HitQuestion {
  readonly tables: readonly TableOfBlocks[];
  readonly promptTokens: number;
  /** A hit ends on a multiple of this; by default of every table's blocks. */
  readonly alignmentTokens?: number;
}

/** Tokens of the longest prefix that every table can give; the last token of a prompt is always computed. */
export function longestHitTokens(question: HitQuestion): number {
  const { tables, promptTokens } = question;
  const { alignmentTokens = tables.map((table) => table.tokensPerBlock).reduce(leastCommonMultiple) } =
    question;
  const longest = promptTokens - 1 - ((promptTokens - 1) % alignmentTokens);
  for (let length = longest; length > 0; length -= alignmentTokens) {
    if (tables.every((table) => serves(table, length, question))) return length;
  }
  return 0;
}

/** Whether a table can give the first `length` tokens. */
function serves(table: TableOfBlocks, length: number, { tables, promptTokens }: HitQuestion): boolean {
  const { tokensPerBlock, computesLastAgain = false } = table;
  // The block that is taken off and computed again. With one table alone the limit holds before it is taken off, with
  // several it holds after, and then only whole blocks of the prompt can be found at all.
  const again = computesLastAgain && table.kind !== 'state' ? tokensPerBlock : 0;
  const limit = tables.length === 1 ? promptTokens - 1 : promptTokens;
  if (length + again > limit) return false;
  const first = Math.floor(firstPosition(table, length) / tokensPerBlock);
  for (let block = first; block * tokensPerBlock < length + again; block += 1) {
    if (!table.holds(block)) return false;
  }
  return true;
}

/** The first token whose keys, values or state the token after the hit depends on. */
function firstPosition({ kind, windowTokens = 1 }: TableOfBlocks, length: number): number {
  if (kind === 'full') return 0;
  if (kind === 'state') return length - 1;
  if (kind === 'chunked') return length - (length % windowTokens);
  // The next token sees itself and the `windowTokens - 1` before it.
  return Math.max(0, length - (windowTokens - 1));
}

function leastCommonMultiple(a: number, b: number): number {
  let multiple = a;
  while (multiple % b !== 0) multiple += a;
  return multiple;
}
