import type { Relay, RelayReader } from '../../../core/relay/relay.js';

/** Hashes of stored blocks that are kept while a canary waits; more than its own prompt can have. */
const MAX_HASHES = 65_536;

/** Sequence hashes of the blocks that an engine's KV events store while a canary watches, by rank and width. */
export class SeenBlocks {
  readonly #reader: RelayReader;
  readonly #byRank = new Map<number, Map<number, Set<string>>>();
  #count = 0;
  #onChange: (() => void) | undefined;

  constructor(relay: Relay) {
    this.#reader = relay.open(undefined, () => {
      this.#read();
      this.#onChange?.();
    });
    // What is held already is of no interest: the prompt is new.
    this.#read();
    this.#byRank.clear();
    this.#count = 0;
  }

  /** Blocks seen in all, on all ranks. */
  get count(): number {
    return this.#count;
  }

  /** Widths of the blocks that a rank has stored. */
  widthsOf(rank: number): readonly number[] {
    return [...(this.#byRank.get(rank)?.keys() ?? [])];
  }

  /** Ranks that have stored something. */
  get ranks(): readonly number[] {
    return [...this.#byRank.keys()];
  }

  /** How many of these packed sequence hashes a rank has stored with this width. */
  countOf(rank: number, tokensPerBlock: number, sequenceHashes: Uint8Array): number {
    const stored = this.#byRank.get(rank)?.get(tokensPerBlock);
    return stored === undefined ? 0 : hashesOf(sequenceHashes).filter((hash) => stored.has(hash)).length;
  }

  /** Called whenever more may have been seen. */
  onChange(listener: (() => void) | undefined): void {
    this.#onChange = listener;
  }

  close(): void {
    this.#onChange = undefined;
    this.#reader.close();
  }

  #read(): void {
    for (let message = this.#reader.next(); message !== undefined; message = this.#reader.next()) {
      if (message.type !== 'changes') continue;
      for (const change of message.changes) {
        // Other groups of a hybrid model have blocks of their own width.
        if (change.type === 'stored' && change.group === undefined)
          this.#add(message.rank, change.tokensPerBlock, change.sequenceHashes);
      }
    }
  }

  #add(rank: number, tokensPerBlock: number, sequenceHashes: Uint8Array): void {
    const widths = this.#byRank.get(rank) ?? new Map<number, Set<string>>();
    const stored = widths.get(tokensPerBlock) ?? new Set<string>();
    for (const hash of hashesOf(sequenceHashes)) {
      if (this.#count >= MAX_HASHES) break;
      if (stored.has(hash)) continue;
      stored.add(hash);
      this.#count += 1;
    }
    widths.set(tokensPerBlock, stored);
    this.#byRank.set(rank, widths);
  }
}

/** Packed little-endian u64 as texts of 16 hexadecimal digits. */
function hashesOf(packed: Uint8Array): readonly string[] {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  return Array.from({ length: Math.floor(bytes.length / 8) }, (_, index) =>
    bytes.toString('hex', 8 * index, 8 * index + 8),
  );
}
