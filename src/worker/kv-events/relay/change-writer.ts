import type { Tier } from '../../../core/blocks/tier.js';
import type { BlockChange } from '../../../core/relay/relay.js';

/** Hashes of one change at most: half a MiB. */
const MAX_HASHES = 65_536;

/** Takes what changes of a rank's blocks, block by block. */
export interface BlockWriter {
  /** `group` is undefined for the main group, as in `BlockChange`. */
  stored(tier: Tier, tokensPerBlock: number, lo: number, hi: number, group: number | undefined): void;
  removed(tier: Tier, lo: number, hi: number, group: number | undefined): void;
  cleared(): void;
  /** The changes since the last call. */
  take(): readonly BlockChange[];
  /** Blocks that are held already, in other words: what readers get after a `cleared`. */
  piece(piece: Omit<Extract<BlockChange, { type: 'stored' }>, 'type'>): void;
}

/**
 * Gathers changes block by block. Blocks in a row that go the same way make
 * one change: vLLM publishes each removal in an event of its own.
 */
export class ChangeWriter implements BlockWriter {
  #buffer = new DataView(new ArrayBuffer(8 * 512));
  #count = 0;
  #type: 'stored' | 'removed' = 'stored';
  #tier: Tier = 'device';
  #tokensPerBlock = 0;
  #group: number | undefined;
  #changes: BlockChange[] = [];

  stored(tier: Tier, tokensPerBlock: number, lo: number, hi: number, group: number | undefined): void {
    this.#turnTo('stored', tier, tokensPerBlock, group);
    this.#push(lo, hi);
  }

  removed(tier: Tier, lo: number, hi: number, group: number | undefined): void {
    this.#turnTo('removed', tier, 0, group);
    this.#push(lo, hi);
  }

  cleared(): void {
    this.#flush();
    if (this.#changes.at(-1)?.type !== 'cleared') this.#changes.push({ type: 'cleared' });
  }

  take(): readonly BlockChange[] {
    this.#flush();
    const changes = this.#changes;
    this.#changes = [];
    return changes;
  }

  piece(piece: Omit<Extract<BlockChange, { type: 'stored' }>, 'type'>): void {
    this.#flush();
    this.#changes.push({ type: 'stored', ...piece });
  }

  #turnTo(type: 'stored' | 'removed', tier: Tier, tokensPerBlock: number, group: number | undefined): void {
    const same =
      this.#type === type &&
      this.#tier === tier &&
      this.#tokensPerBlock === tokensPerBlock &&
      this.#group === group;
    if (same && this.#count < MAX_HASHES) return;
    this.#flush();
    this.#type = type;
    this.#tier = tier;
    this.#tokensPerBlock = tokensPerBlock;
    this.#group = group;
  }

  #push(lo: number, hi: number): void {
    const offset = 8 * this.#count;
    if (offset === this.#buffer.byteLength) {
      const larger = new Uint8Array(2 * offset);
      larger.set(new Uint8Array(this.#buffer.buffer));
      this.#buffer = new DataView(larger.buffer);
    }
    this.#buffer.setUint32(offset, lo, true);
    this.#buffer.setUint32(offset + 4, hi, true);
    this.#count += 1;
  }

  #flush(): void {
    if (this.#count === 0) return;
    // A copy in Node's pool: a buffer of its own for a few hashes would be four times as large as they are.
    const sequenceHashes = Buffer.from(new Uint8Array(this.#buffer.buffer, 0, 8 * this.#count));
    this.#count = 0;
    const blocks = {
      tier: this.#tier,
      sequenceHashes,
      ...(this.#group === undefined ? {} : { group: this.#group }),
    };
    this.#changes.push(
      this.#type === 'stored'
        ? { type: 'stored', tokensPerBlock: this.#tokensPerBlock, ...blocks }
        : { type: 'removed', ...blocks },
    );
  }
}
