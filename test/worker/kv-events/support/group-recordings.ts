import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { decode } from '@msgpack/msgpack';
import type { BlockHasher } from '../../../../src/core/blocks/block-hasher.js';
import { unpack } from './engine-payloads.js';

/** The recordings of engines with several KV cache groups; see the README beside them. */
export const GROUP_RECORDINGS = ['gptoss', 'qwen3next', 'mistral-window'] as const;

/** A batch, and what the engine held when it gave it away. */
export interface GroupBatch {
  readonly sequence: number;
  readonly payload: Uint8Array;
  /** Different hashes by group. */
  readonly held: Readonly<Record<string, number>>;
}

/** What an engine published, and what it held in the end. */
export interface GroupRecording {
  readonly batches: readonly GroupBatch[];
  /** Engine hashes by group, in decimal. */
  readonly hashes: Readonly<Record<string, readonly string[]>>;
}

export function readGroupRecording(name: string): GroupRecording {
  const url = new URL(`../../../fixtures/kv-events-groups/vllm-0.32.0.${name}.jsonl.gz`, import.meta.url);
  const lines = gunzipSync(readFileSync(url)).toString('utf8').trim().split('\n');
  const rows = lines.map((line) => JSON.parse(line));
  const last = rows.pop();
  return {
    batches: rows.map(({ sequence, payload, held }) => ({
      sequence,
      payload: Buffer.from(payload, 'hex'),
      held,
    })),
    hashes: last.hashes,
  };
}

interface DecodedEvent {
  readonly type: string;
  readonly block_hashes: readonly bigint[];
  readonly parent_block_hash: bigint | null;
  readonly token_ids: readonly bigint[];
  readonly block_size: bigint;
  readonly group_idx: bigint;
}

/** The prompt up to the end of each block, by engine hash, from the dense stores of one group. */
export function promptsOf(
  batches: readonly GroupBatch[],
  group: number,
): ReadonlyMap<string, readonly number[]> {
  const prompts = new Map<string, readonly number[]>();
  for (const { payload } of batches) {
    const [, events] = decode(payload, { useBigInt64: true }) as [number, readonly DecodedEvent[]];
    for (const event of events) {
      if (event.type !== 'BlockStored' || Number(event.group_idx) !== group) continue;
      const width = Number(event.block_size);
      const parent = event.parent_block_hash === null ? [] : prompts.get(String(event.parent_block_hash));
      for (const [at, hash] of event.block_hashes.entries()) {
        const own = event.token_ids.slice(0, (at + 1) * width).map(Number);
        if (parent !== undefined) prompts.set(String(hash), [...parent, ...own]);
      }
    }
  }
  return prompts;
}

/** How many events a batch has. */
export function eventsIn(payload: Uint8Array): number {
  return (decode(payload, { useBigInt64: true }) as [number, readonly DecodedEvent[]])[1].length;
}

/** The tokens of the stores of a batch that follow no other block. */
export function rootPromptsOf(payload: Uint8Array): readonly (readonly number[])[] {
  const [, events] = decode(payload, { useBigInt64: true }) as [number, readonly DecodedEvent[]];
  return events
    .filter(({ type, parent_block_hash: parent }) => type === 'BlockStored' && parent === null)
    .map(({ token_ids }) => token_ids.map(Number));
}

/** The sequence hash of a prompt that fills its blocks. */
export function sequenceHashOf(
  hasher: BlockHasher,
  prompt: readonly number[],
  tokensPerBlock: number,
): bigint | undefined {
  const options = { tokensPerBlock, unit: 'token', seed: hasher.seedOf('', '') } as const;
  return unpack(hasher.hashTokens(Uint32Array.from(prompt), options).sequenceHashes).at(-1);
}
