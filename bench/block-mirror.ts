/**
 * What a sidecar's view of its engine's cache costs: bytes and nanoseconds a block
 * of the mirror, against a `Map` of bigints, and the time from an engine's
 * payload of 512 blocks to its changes, against decoding it with
 * `@msgpack/msgpack` alone.
 */
import { Decoder, Encoder } from '@msgpack/msgpack';
import { BlockHasher } from '../src/core/blocks/block-hasher.js';
import { BlockMirror, traitsOf } from '../src/core/blocks/block-mirror.js';
import { seededRandom } from '../src/edge/platform/random.js';
import { EventCounts } from '../src/worker/kv-events/cache/event-counts.js';
import { RankCache } from '../src/worker/kv-events/cache/rank-cache.js';
import { IS_QUICK, median, ratio, title } from './support/figures.js';

const ROUNDS = IS_QUICK ? 1 : 5;
const BLOCKS = IS_QUICK ? 100_000 : 2_000_000;
const BATCHES = IS_QUICK ? 200 : 4_000;
const BATCH_BLOCKS = 512;
const TOKENS_PER_BLOCK = 16;
const MEMORY_AIM_BYTES = 40;
const DECODER_AIM = 1;

const { fraction: random } = seededRandom(42);
const words = Uint32Array.from({ length: 2 * BLOCKS }, () => Math.floor(random() * 4_294_967_296));
const keys = Array.from(
  { length: BLOCKS },
  (_, i) => (BigInt(words[2 * i + 1] ?? 0) << 32n) | BigInt(words[2 * i] ?? 0),
);

const TRAITS = traitsOf(TOKENS_PER_BLOCK, 1, false);

function add(mirror: BlockMirror, i: number): boolean {
  return mirror.add(words[2 * i] ?? 0, words[2 * i + 1] ?? 0, i, i, 0, TRAITS);
}

function find(mirror: BlockMirror, i: number): number {
  return mirror.find(words[2 * i] ?? 0, words[2 * i + 1] ?? 0);
}

function nsEach(count: number, run: () => void): number {
  const startNs = process.hrtime.bigint();
  run();
  return Number(process.hrtime.bigint() - startNs) / count;
}

const SIZES: readonly number[] = [10_000, 100_000, BLOCKS / 2, (BLOCKS * 3) / 4, BLOCKS];
const mirrorNs = { add: [] as number[], find: [] as number[], remove: [] as number[] };
const mapNs = { add: [] as number[], find: [] as number[], remove: [] as number[] };
const bytesEach = new Map<number, number>();
for (let round = 0; round < ROUNDS; round += 1) {
  const mirror = new BlockMirror(BLOCKS);
  mirrorNs.add.push(
    nsEach(BLOCKS, () => {
      for (let i = 0; i < BLOCKS; i += 1) {
        add(mirror, i);
        if (SIZES.includes(mirror.size)) bytesEach.set(mirror.size, mirror.byteLength / mirror.size);
      }
    }),
  );
  mirrorNs.find.push(
    nsEach(BLOCKS, () => {
      for (let i = 0; i < BLOCKS; i += 1) find(mirror, i);
    }),
  );
  mirrorNs.remove.push(
    nsEach(BLOCKS, () => {
      for (let i = 0; i < BLOCKS; i += 1) mirror.remove(find(mirror, i));
    }),
  );

  const map = new Map<bigint, number[]>();
  mapNs.add.push(
    nsEach(BLOCKS, () => {
      for (const [i, key] of keys.entries()) map.set(key, [i, i, 0, TRAITS]);
    }),
  );
  mapNs.find.push(
    nsEach(BLOCKS, () => {
      for (const key of keys) map.get(key);
    }),
  );
  mapNs.remove.push(
    nsEach(BLOCKS, () => {
      for (const key of keys) map.delete(key);
    }),
  );
}

title(`the mirror of ${BLOCKS.toLocaleString('en')} blocks, ${ROUNDS} rounds`);
for (const [size, bytes] of bytesEach) {
  ratio(`memory a block, of ${size.toLocaleString('en')}`, bytes, MEMORY_AIM_BYTES, 'B', 1);
}
ratio('adding a block, against a map of bigints', median(mirrorNs.add), median(mapNs.add), 'ns', 1);
ratio('finding one', median(mirrorNs.find), median(mapNs.find), 'ns', 1);
ratio('removing one', median(mirrorNs.remove), median(mapNs.remove), 'ns', 1);

const encoder = new Encoder({ useBigInt64: true });

/** A store of one prompt as vLLM sends it; its hashes begin at `first`. */
function payloadOf(first: bigint): Uint8Array {
  const hashes = Array.from({ length: BATCH_BLOCKS }, (_, i) => 2n ** 63n + first + BigInt(i));
  const event = {
    type: 'BlockStored',
    block_hashes: hashes,
    parent_block_hash: null,
    token_ids: Array.from({ length: BATCH_BLOCKS * TOKENS_PER_BLOCK }, () => Math.floor(random() * 128_000)),
    block_size: TOKENS_PER_BLOCK,
    lora_id: null,
    medium: 'GPU',
    lora_name: null,
    extra_keys: hashes.map(() => null),
    group_idx: 0,
    kv_cache_spec_kind: 'full_attention',
  };
  return encoder.encode([1_795_224_321.5, [event], 0]);
}

const payloads = Array.from({ length: 32 }, (_, i) => payloadOf(BigInt(i * BATCH_BLOCKS)));
const decoder = new Decoder({ useBigInt64: true });
const cache = new RankCache({}, { hasher: new BlockHasher(), counts: new EventCounts() });
const times = { fresh: [] as number[], known: [] as number[], decoded: [] as number[] };
for (let batch = 0; batch < BATCHES; batch += 1) {
  const payload = payloads[batch % payloads.length] ?? new Uint8Array();
  if (batch % payloads.length === 0) cache.clear();
  times.fresh.push(nsEach(1_000, () => cache.apply(payload)));
  times.known.push(nsEach(1_000, () => cache.apply(payload)));
  times.decoded.push(nsEach(1_000, () => decoder.decode(payload)));
}
title(`a payload of ${BATCH_BLOCKS} blocks of ${TOKENS_PER_BLOCK} tokens, ${BATCHES} times`);
const floorUs = median(times.decoded);
ratio('decoded, hashed and applied', median(times.fresh), floorUs, 'us', DECODER_AIM);
ratio('the same again', median(times.known), floorUs, 'us', DECODER_AIM);
