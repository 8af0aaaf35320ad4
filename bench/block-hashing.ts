/**
 * Hashing the tokens of a request: 10,000 tokens in blocks of 16 and of 64,
 * block hashes and sequence hashes, against hash-wasm called block by block and
 * against the Rust crate of Dynamo's KV router, where that can be built. The
 * sums of all hashes are those of that crate.
 */
import { createXXHash3 } from 'hash-wasm';
import { BlockHasher, type HashedBlocks } from '../src/core/blocks/block-hasher.js';
import { bigintAt } from '../test/support/packed-hashes.js';
import { figure, IS_QUICK, median, ratio, title } from './support/figures.js';
import { findRustPeer } from './support/rust-peer.js';

const ROUNDS = IS_QUICK ? 3 : 9;
const CALLS = IS_QUICK ? 500 : 3_000;
const WARM_UP_CALLS = 1_000;
const TOKENS = 10_000;
/** Of bare Rust: what calling through Python or Go costs is more than this. */
const PEER_AIM = 4;
const HASH_WASM_AIM = 1;
const PEER = findRustPeer();

const WORKLOADS = [
  { tokensPerBlock: 16, blockSum: 3785512097845751210n, sequenceSum: 6638660663906206709n },
  { tokensPerBlock: 64, blockSum: 9857055940867168130n, sequenceSum: 1222239275027574905n },
];

/** What the peer's program prints for each block size, as far as it is used. */
interface PeerFigures {
  readonly block_size: number;
  readonly us_call_p50: number;
  readonly seq_us_call_p50: number;
  readonly checksum: string;
  readonly seq_checksum: string;
}

const tokens = Uint32Array.from({ length: TOKENS }, (_, index) => scattered(index) % 128_000);
const tokenBytes = new Uint8Array(tokens.buffer);
const hasher = new BlockHasher();
const seed = hasher.seedOf('', '');
const wasmHasher = await createXXHash3(seed.lo, seed.hi);

/** The finalizer of MurmurHash3. */
function mix(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** Number `index` of the workload's tokens, before they are cut to a vocabulary; the seed is 42. */
function scattered(index: number): number {
  return mix(mix(mix(42 ^ 0x3333_3333)) + index);
}

function hashTokens(tokensPerBlock: number): HashedBlocks {
  return hasher.hashTokens(tokens, { tokensPerBlock, unit: 'token', seed });
}

function hashByHashWasm(tokensPerBlock: number): void {
  const bytes = 4 * tokensPerBlock;
  for (let at = 0; at + bytes <= tokenBytes.length; at += bytes)
    wasmHasher
      .init()
      .update(tokenBytes.subarray(at, at + bytes))
      .digest('binary');
}

function sumOf(hashes: Uint8Array): bigint {
  let sum = 0n;
  for (let index = 0; index < hashes.length / 8; index += 1) sum += bigintAt(hashes, index);
  return BigInt.asUintN(64, sum);
}

function check(what: string, sum: bigint, expected: bigint): void {
  if (sum !== expected) throw new Error(`${what}: the hashes add up to ${sum}, not to ${expected}`);
}

/** Microseconds of the middle one of `calls` calls. */
function middleUs(calls: number, call: () => unknown): number {
  const times: number[] = [];
  for (let count = 0; count < calls; count += 1) {
    const startNs = process.hrtime.bigint();
    call();
    times.push(Number(process.hrtime.bigint() - startNs) / 1_000);
  }
  return median(times);
}

const measured = WORKLOADS.map((workload) => ({
  ...workload,
  blockHashes: hashTokens(workload.tokensPerBlock).blockHashes.slice(),
  us: [] as number[],
  chainUs: [] as number[],
  wasmUs: [] as number[],
  peerUs: [] as number[],
  peerChainUs: [] as number[],
}));
for (const { tokensPerBlock, blockHashes, blockSum, sequenceSum } of measured) {
  const hashed = hashTokens(tokensPerBlock);
  check(`block hashes of ${tokensPerBlock}`, sumOf(hashed.blockHashes), blockSum);
  check(`sequence hashes of ${tokensPerBlock}`, sumOf(hashed.sequenceHashes), sequenceSum);
  middleUs(WARM_UP_CALLS, () => hashTokens(tokensPerBlock));
  middleUs(WARM_UP_CALLS, () => hasher.chain(blockHashes));
  middleUs(WARM_UP_CALLS / 10, () => hashByHashWasm(tokensPerBlock));
}
for (let round = 0; round < ROUNDS; round += 1) {
  const peer = PEER.ask<PeerFigures>(['hash']);
  for (const { tokensPerBlock, blockHashes, blockSum, sequenceSum, ...times } of measured) {
    times.us.push(middleUs(CALLS, () => hashTokens(tokensPerBlock)));
    times.chainUs.push(middleUs(CALLS, () => hasher.chain(blockHashes)));
    times.wasmUs.push(middleUs(CALLS / 10, () => hashByHashWasm(tokensPerBlock)));
    const figures = peer.find(({ block_size }) => block_size === tokensPerBlock);
    if (figures === undefined) continue;
    check(`the peer's block hashes of ${tokensPerBlock}`, BigInt(figures.checksum), blockSum);
    check(`the peer's sequence hashes of ${tokensPerBlock}`, BigInt(figures.seq_checksum), sequenceSum);
    times.peerUs.push(figures.us_call_p50);
    times.peerChainUs.push(figures.seq_us_call_p50);
  }
}

for (const { tokensPerBlock, blockHashes, us, chainUs, wasmUs, peerUs, peerChainUs } of measured) {
  const blocks = blockHashes.length / 8;
  const [oursUs, oursChainUs] = [median(us), median(chainUs)];
  title(`block hashing, 10,000 tokens in blocks of ${tokensPerBlock}, ${ROUNDS} rounds of ${CALLS} calls`);
  figure('both hashes of a block', (1_000 * oursUs) / blocks, 'ns');
  figure('the sequence hash alone', (1_000 * oursChainUs) / blocks, 'ns');
  ratio('a call, against block hashes by hash-wasm', oursUs, median(wasmUs), 'us', HASH_WASM_AIM);
  if (peerUs.length === 0) continue;
  const [rustUs, rustChainUs] = [median(peerUs), median(peerChainUs)];
  ratio('a call, against both hashes in Rust', oursUs, rustUs + rustChainUs, 'us', PEER_AIM);
  ratio('a call, against block hashes alone in Rust', oursUs, rustUs, 'us', PEER_AIM);
  ratio('sequence hashes alone, against Rust', oursChainUs, rustChainUs, 'us', PEER_AIM);
}
console.log(`  peer: ${PEER.says}`);
