/**
 * What re-hashing an engine's blocks into larger ones costs a sidecar: nanoseconds and bytes a token, from the engine's
 * payloads of stores and of removals to their changes, against the plain path of the same payloads.
 */
import { Encoder } from '@msgpack/msgpack';
import { BlockHasher } from '../src/core/blocks/block-hasher.js';
import { seededRandom } from '../src/edge/platform/random.js';
import { EventCounts } from '../src/worker/kv-events/cache/event-counts.js';
import { RankCache } from '../src/worker/kv-events/cache/rank-cache.js';
import { RehashedBlocks } from '../src/worker/kv-events/cache/rehashed-blocks.js';
import { ChangeWriter } from '../src/worker/kv-events/relay/change-writer.js';
import { figure, IS_QUICK, median, ratio, title } from './support/figures.js';

const ROUNDS = IS_QUICK ? 3 : 15;
/** Of one prompt. */
const TOKENS = 4_096;
const PROMPTS = IS_QUICK ? 8 : 64;
const CANONICAL = 32;
const AIM = 3;

const { fraction: random } = seededRandom(42);
const encoder = new Encoder({ useBigInt64: true });
const hasher = new BlockHasher();

interface Payloads {
  readonly stores: readonly Uint8Array[];
  readonly removals: readonly Uint8Array[];
}

function payloadsOf(ownTokens: number): Payloads {
  const count = TOKENS / ownTokens;
  const stores: Uint8Array[] = [];
  const removals: Uint8Array[] = [];
  for (let prompt = 0; prompt < PROMPTS; prompt += 1) {
    const hashes = Array.from({ length: count }, (_, i) => 2n ** 63n + BigInt(prompt * count + i));
    const event = {
      type: 'BlockStored',
      block_hashes: hashes,
      parent_block_hash: null,
      token_ids: Array.from({ length: TOKENS }, () => Math.floor(random() * 128_000)),
      block_size: ownTokens,
      medium: 'GPU',
    };
    stores.push(encoder.encode([1_795_224_321.5, [event], 0]));
    const last = hashes.reverse();
    const removal = { type: 'BlockRemoved', block_hashes: last, medium: 'GPU' };
    removals.push(encoder.encode([1_795_224_322.5, [removal], 0]));
  }
  return { stores, removals };
}

/** Nanoseconds a token to store all prompts, and to remove them. */
function run({ stores, removals }: Payloads, rehashTo: number | undefined): readonly [number, number] {
  const modules = { hasher, canonicalHasher: new BlockHasher(), counts: new EventCounts() };
  const cache = new RankCache({ rehashTo }, modules);
  return [stores, removals].map((payloads) => {
    const startNs = process.hrtime.bigint();
    for (const payload of payloads) cache.apply(payload);
    return Number(process.hrtime.bigint() - startNs) / (PROMPTS * TOKENS);
  }) as unknown as readonly [number, number];
}

/** Bytes of nodes and tokens for each own block, beside the mirror. */
function bytesOf(ownTokens: number): number {
  const writer = new ChangeWriter();
  const blocks = new RehashedBlocks({ canonicalTokens: CANONICAL, maxBlocks: 2 ** 24 }, { writer, hasher });
  const seed = { lo: 1, hi: 0 };
  const tokens = new Uint32Array(TOKENS);
  const count = (PROMPTS * TOKENS) / ownTokens;
  for (let at = 0; at < count; at += 1) {
    const index = at % (TOKENS / ownTokens);
    const before = { hasBefore: index > 0, beforeLo: at - 1, beforeHi: 0 };
    blocks.learn(at, 0, index, {
      tokens,
      tokensPerBlock: ownTokens,
      seed,
      reachesFarther: false,
      hasMedia: false,
      ...before,
    });
    blocks.stored('device', ownTokens, at, 0);
  }
  return blocks.byteLength / blocks.ownBlocks;
}

title(
  `blocks re-hashed into blocks of ${CANONICAL}: ${PROMPTS} prompts of ${TOKENS} tokens, ${ROUNDS} rounds`,
);
for (const ownTokens of [1, 16]) {
  const payloads = payloadsOf(ownTokens);
  const plain: (readonly [number, number])[] = [];
  const rehashed: (readonly [number, number])[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    plain.push(run(payloads, undefined));
    rehashed.push(run(payloads, CANONICAL));
  }
  const at = (place: 0 | 1, rounds: readonly (readonly [number, number])[]): number =>
    median(rounds.map((round) => round[place]));
  ratio(`storing a token in blocks of ${ownTokens}`, at(0, rehashed), at(0, plain), 'ns', AIM);
  ratio(`removing a token in blocks of ${ownTokens}`, at(1, rehashed), at(1, plain), 'ns', AIM);
  figure(`memory of a block of ${ownTokens}, beside the mirror`, bytesOf(ownTokens), 'B');
}
