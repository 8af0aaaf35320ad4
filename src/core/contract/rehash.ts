import type { ContractValues } from './contract-values.js';
import { isTokensPerBlock } from './evidence/tokens-per-block.js';

/**
 * Largest block that is re-hashed, in tokens: the largest size that an engine of today runs (SGLang's largest page). Of
 * a larger one a prompt of usual length has no whole block, so that nothing would ever be found.
 */
export const MAX_REHASHED_TOKENS = 2_048;

/** Whether the sidecar of a worker can re-hash its blocks into larger ones. */
export interface RehashAbility {
  readonly isPossible: boolean;
  /** Why not, for an operator; empty when it is. */
  readonly reason: string;
}

/** What is assumed of a report that says nothing: its sidecar is older, or there is none. */
export const UNKNOWN_REHASH: RehashAbility = {
  isPossible: false,
  reason: 'its report does not say that its sidecar can re-hash blocks: it is older, or there is none',
};

/** Whether blocks of `own` tokens can be re-hashed into blocks of `canonical` tokens. */
export function isRehashable(own: number, canonical: number): boolean {
  return canonical % own === 0 && canonical <= MAX_REHASHED_TOKENS;
}

/** The least common multiple of block sizes; undefined when it is larger than what is re-hashed. */
export function canonicalSize(sizes: Iterable<number>): number | undefined {
  let canonical = 1;
  for (const size of sizes) {
    if (!isTokensPerBlock(size)) return undefined;
    canonical = (canonical / greatestCommonDivisor(canonical, size)) * size;
    if (canonical > MAX_REHASHED_TOKENS) return undefined;
  }
  return canonical;
}

/**
 * A15: the contracts as they are compared where blocks are re-hashed: each with the least common multiple of all block
 * sizes as its own. Undefined where a size differs from it that cannot be re-hashed.
 */
export function inCanonicalSize(contracts: readonly ContractValues[]): readonly ContractValues[] | undefined {
  const sizes = contracts.flatMap(({ tokens_per_block: size }) => (typeof size === 'number' ? [size] : []));
  // One that all have needs no re-hashing, however large it is.
  const canonical = new Set(sizes).size < 2 ? sizes[0] : canonicalSize(sizes);
  if (canonical === undefined) return sizes.length === 0 ? contracts : undefined;
  const fit = contracts.every((contract) => canFollow(contract, canonical));
  return fit ? contracts.map((contract) => withSize(contract, canonical)) : undefined;
}

/** Whether a worker's blocks are of `canonical` tokens, or can be re-hashed into such; so is a size that is not known. */
export function canFollow(
  { tokens_per_block: own, block_rehash }: ContractValues,
  canonical: number,
): boolean {
  if (own === undefined || own === canonical) return true;
  return block_rehash === 'possible' && typeof own === 'number' && isRehashable(own, canonical);
}

/** The same contract with another block size, where it has one. */
export function withSize(contract: ContractValues, tokensPerBlock: number): ContractValues {
  return contract.tokens_per_block === undefined
    ? contract
    : { ...contract, tokens_per_block: tokensPerBlock };
}

function greatestCommonDivisor(one: number, other: number): number {
  let [larger, smaller] = [one, other];
  while (smaller > 0) [larger, smaller] = [smaller, larger % smaller];
  return larger;
}
