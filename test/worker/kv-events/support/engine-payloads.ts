import { readFileSync } from 'node:fs';
import { Encoder } from '@msgpack/msgpack';
import { parse } from 'lossless-json';
import { BlockHasher } from '../../../../src/core/blocks/block-hasher.js';
import type { BlockChange } from '../../../../src/core/relay/relay.js';
import { EventCounts } from '../../../../src/worker/kv-events/cache/event-counts.js';
import { RankCache, type RankCacheOptions } from '../../../../src/worker/kv-events/cache/rank-cache.js';

/** The recordings of real engines; see the README beside them. */
export const RECORDINGS = [
  'vllm-0.32.0.block-32',
  'vllm-0.32.0.block-128',
  'vllm-0.32.0.byte-hashes',
  'vllm-0.32.0.rust-frontend',
  'sglang-0.5.23.page-32',
  'dynamo-mocker-1.6.1.vllm-16-small',
  'dynamo-mocker-1.6.1.sglang-32',
  'dynamo-mocker-1.6.1.trtllm-default',
  'dynamo-mocker-1.6.1.vllm-default',
  'dynamo-mocker-1.6.1.vllm-dp2-32',
] as const;

export type RecordingName = (typeof RECORDINGS)[number];

type HashValue = bigint | { readonly bin: string };

/** An event as the other program decoded it; integers are bigints. */
export interface RecordedEvent {
  readonly type: 'BlockStored' | 'BlockRemoved' | 'AllBlocksCleared';
  readonly block_hashes?: readonly HashValue[];
  readonly parent_block_hash?: HashValue | null;
  readonly token_ids?: readonly bigint[];
  readonly block_size?: bigint;
  readonly medium?: string;
  readonly extra_keys?: readonly (readonly string[] | null)[];
  readonly group_idx?: bigint;
  readonly kv_cache_spec_kind?: string;
}

export interface RecordedBatch {
  readonly sequence: bigint;
  readonly payload: Uint8Array;
  readonly publishedAtSeconds: number;
  readonly events: readonly RecordedEvent[];
  readonly rank: bigint;
}

export function readRecording(name: RecordingName): RecordedBatch[] {
  const url = new URL(`../../../fixtures/kv-events/${name}.jsonl`, import.meta.url);
  return readFileSync(url, 'utf8')
    .trim()
    .split('\n')
    .map((line) => {
      const row = parse(line, undefined, (text) => (/^-?\d+$/.test(text) ? BigInt(text) : Number(text)));
      const { sequence, payload, batch } = row as {
        sequence: bigint;
        payload: string;
        batch: [number, RecordedEvent[], bigint];
      };
      return {
        sequence,
        payload: Buffer.from(payload, 'hex'),
        publishedAtSeconds: batch[0],
        events: batch[1],
        rank: batch[2],
      };
    });
}

/** A hash as the cache view knows it: 64 bits, unsigned, the last eight bytes of a longer one. */
export function engineHash(value: HashValue): bigint {
  return BigInt.asUintN(64, typeof value === 'bigint' ? value : BigInt(`0x${value.bin}`));
}

/** Packed little-endian u64 as bigints. */
export function unpack(packed: Uint8Array): bigint[] {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  return Array.from({ length: packed.byteLength / 8 }, (_, i) => view.getBigUint64(8 * i, true));
}

/** Encodes as msgpack; bigints as 64-bit integers. */
export function encode(value: unknown): Uint8Array {
  return new Encoder({ useBigInt64: true }).encode(value);
}

/** A batch in the usual form: an array of time, events and rank. */
export function batchOf(...events: readonly unknown[]): Uint8Array {
  return encode([1_795_224_321.5, events, 0]);
}

/** A cache view with its counts, and what applying said, in words that tests compare. */
export function makeCache(options: RankCacheOptions = {}): {
  readonly cache: RankCache;
  readonly counts: EventCounts;
  readonly hasher: BlockHasher;
  /** Counted so far as `type result total`. */
  counted(): string[];
  /** What the snapshot reports: each as `tier width hash`, with `group N` in front unless of the main group; sorted. */
  held(): string[];
} {
  const hasher = new BlockHasher();
  const counts = new EventCounts();
  const cache = new RankCache(options, { hasher, canonicalHasher: new BlockHasher(), counts });
  return {
    cache,
    counts,
    hasher,
    counted: () => counts.entries().map(({ type, result, total }) => `${type} ${result} ${total}`),
    held: () => {
      const pieces = cache.snapshot();
      const stored: string[] = [];
      for (let piece = pieces.next(); piece !== undefined; piece = pieces.next()) {
        for (const hash of unpack(piece.sequenceHashes)) {
          stored.push(`${groupOf(piece)}${piece.tier} ${piece.tokensPerBlock} ${hash}`);
        }
      }
      return stored.sort();
    },
  };
}

function groupOf({ group }: { readonly group?: number }): string {
  return group === undefined ? '' : `group ${group} `;
}

/** What a reader of the changes holds, in the words of `held`. */
export class ChangeReader {
  readonly #widths = new Map<string, number>();

  apply(changes: readonly BlockChange[]): void {
    for (const change of changes) {
      if (change.type === 'cleared') {
        this.#widths.clear();
        continue;
      }
      for (const hash of unpack(change.sequenceHashes)) {
        const key = `${groupOf(change)}${change.tier} ${hash}`;
        if (change.type === 'stored') this.#widths.set(key, change.tokensPerBlock);
        else this.#widths.delete(key);
      }
    }
  }

  held(): string[] {
    return [...this.#widths]
      .map(([key, width]) => {
        const words = key.split(' ');
        return [...words.slice(0, -1), width, words.at(-1)].join(' ');
      })
      .sort();
  }
}
