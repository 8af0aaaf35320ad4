import { describe, expect, it } from 'vitest';
import { BlockHasher } from '../../../../src/core/blocks/block-hasher.js';
import {
  ChangeReader,
  engineHash,
  makeCache,
  RECORDINGS,
  type RecordedEvent,
  readRecording,
  unpack,
} from '../support/engine-payloads.js';

const hasher = new BlockHasher();

/** What a real engine holds, by the tokens of each prefix: worked out from its recorded events without any hash of ours. */
class PrefixModel {
  readonly ownTokens: number;
  /** The tokens up to the end of a block, by the engine's hash. */
  readonly #tokens = new Map<bigint, readonly number[]>();
  /** Copies of each block. */
  readonly #copies = new Map<bigint, number>();

  constructor(ownTokens: number) {
    this.ownTokens = ownTokens;
  }

  apply(event: RecordedEvent): void {
    const hashes = (event.block_hashes ?? []).map(engineHash);
    if (event.type === 'AllBlocksCleared') this.#copies.clear();
    else if (event.type === 'BlockRemoved') for (const hash of hashes) this.#drop(hash);
    else this.#store(event, hashes);
  }

  /** Each canonical block of which every part is held, as a cache announces it. */
  canonicalBlocks(canonical: number): string[] {
    const held = new Set([...this.#copies.keys()].map((hash) => this.#tokens.get(hash)?.join()));
    const blocks = new Set<string>();
    for (const hash of this.#copies.keys()) {
      const tokens = this.#tokens.get(hash) ?? [];
      if (tokens.length % canonical !== 0) continue;
      const parts = Array.from({ length: canonical / this.ownTokens }, (_, at) =>
        tokens.slice(0, tokens.length - at * this.ownTokens).join(),
      );
      if (!parts.every((part) => held.has(part))) continue;
      const { sequenceHashes } = hasher.hashTokens(Uint32Array.from(tokens), {
        tokensPerBlock: canonical,
        unit: 'token',
        seed: hasher.seedOf('', ''),
      });
      blocks.add(`device ${canonical} ${unpack(sequenceHashes).at(-1)}`);
    }
    return [...blocks].sort();
  }

  #store(event: RecordedEvent, hashes: readonly bigint[]): void {
    const { parent_block_hash: parent } = event;
    const isKnown = parent !== null && parent !== undefined;
    let before = isKnown ? (this.#tokens.get(engineHash(parent)) ?? []) : [];
    for (const [at, hash] of hashes.entries()) {
      const own = (event.token_ids ?? []).slice(at * this.ownTokens, (at + 1) * this.ownTokens);
      before = [...before, ...own.map(Number)];
      this.#tokens.set(hash, before);
      const isCounted = event.kv_cache_spec_kind !== undefined;
      const copies = this.#copies.get(hash) ?? 0;
      this.#copies.set(hash, isCounted ? copies + 1 : 1);
    }
  }

  #drop(hash: bigint): void {
    const copies = (this.#copies.get(hash) ?? 0) - 1;
    if (copies > 0) this.#copies.set(hash, copies);
    else this.#copies.delete(hash);
  }
}

describe('recorded events of real engines, re-hashed into larger blocks', () => {
  it.each(RECORDINGS)('%s: the blocks of which every part is held are announced, and no others', (name) => {
    const batches = readRecording(name);
    const first = batches.flatMap(({ events }) => events).find(({ type }) => type === 'BlockStored');
    const ownTokens = Number(first?.block_size);
    for (const canonical of [2 * ownTokens, 4 * ownTokens]) {
      const { cache } = makeCache({ rehashTo: canonical });
      const reader = new ChangeReader();
      const model = new PrefixModel(ownTokens);
      for (const { payload, events, rank } of batches) {
        if (rank !== batches[0]?.rank) continue;
        reader.apply(cache.apply(payload).changes);
        for (const event of events) model.apply(event);
      }
      expect(reader.held()).toEqual(model.canonicalBlocks(canonical));
      expect(cache.flaw).toBeUndefined();
    }
  });
});
