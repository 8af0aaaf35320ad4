import { createXXHash3 } from 'hash-wasm';
import type { HashHalves } from '../../../../src/core/blocks/packed-hashes.js';

/** What a block hasher is asked for, written in the plainest way. */
export interface ReferenceOptions {
  readonly tokensPerBlock: number;
  readonly isBigram: boolean;
  readonly seed: HashHalves;
  readonly parent?: bigint | undefined;
  readonly media?: readonly (readonly bigint[])[] | undefined;
}

/** XXH3-64 of `bytes` by an implementation that has nothing in common with ours. */
export async function referenceHash(bytes: Uint8Array, { lo, hi }: HashHalves): Promise<bigint> {
  const hasher = await createXXHash3(lo, hi);
  return BigInt(`0x${hasher.init().update(bytes).digest('hex')}`);
}

/** Block hashes and sequence hashes as the scheme says them, one block after the other. */
export async function referenceBlocks(
  tokens: readonly number[],
  { tokensPerBlock, isBigram, seed, parent, media }: ReferenceOptions,
): Promise<{ readonly blocks: readonly bigint[]; readonly sequences: readonly bigint[] }> {
  const blockHasher = await createXXHash3(seed.lo, seed.hi);
  const chainHasher = await createXXHash3(1337, 0);
  const blocks: bigint[] = [];
  const sequences: bigint[] = [];
  const window = tokensPerBlock + (isBigram ? 1 : 0);
  let previous = parent;
  for (let start = 0; start + window <= tokens.length; start += tokensPerBlock) {
    const sorted = [...(media?.[blocks.length] ?? [])].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    const message = Buffer.alloc(4 * window + 8 * sorted.length);
    for (const [index, token] of tokens.slice(start, start + window).entries())
      message.writeUInt32LE(token, 4 * index);
    for (const [index, hash] of sorted.entries()) message.writeBigUInt64LE(hash, 4 * window + 8 * index);
    const block = BigInt(`0x${blockHasher.init().update(message).digest('hex')}`);
    blocks.push(block);

    const link = Buffer.alloc(16);
    link.writeBigUInt64LE(previous ?? 0n, 0);
    link.writeBigUInt64LE(block, 8);
    previous = previous === undefined ? block : BigInt(`0x${chainHasher.init().update(link).digest('hex')}`);
    sequences.push(previous);
  }
  return { blocks, sequences };
}
