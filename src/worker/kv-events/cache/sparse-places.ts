import type { HashHalves } from '../../../core/blocks/packed-hashes.js';
import type { EngineEvent } from '../decode/engine-event.js';
import { eventHashOf, HASH_SCHEMES, type HashScheme, isHashable } from './vllm-block-hash.js';

/** Blocks whose digests are remembered, as the parents of others: about 10 MiB. */
const MAX_LINKS = 65_536;

/** A block that others may follow. */
interface Link {
  readonly scheme: HashScheme;
  readonly digest: Buffer;
  readonly sequence: HashHalves;
}

/** The digests of all blocks of an event's tokens. */
interface Chain {
  readonly scheme: HashScheme;
  readonly digests: readonly Buffer[];
}

/**
 * Finds out which blocks of its tokens a store announces, in a model that has
 * no group of full attention to say it: by hashing them as vLLM does. Only for
 * prompts without LoRA, salt and media, and for the default seed; of others
 * nothing is known.
 */
export class SparsePlaces {
  /** By the engine's hash; the oldest goes first. */
  readonly #links = new Map<bigint, Link>();
  #chain: Chain | undefined;

  clear(): void {
    this.#links.clear();
    this.#chain = undefined;
  }

  /** The sequence hash of the block before the event's first; undefined when it is not known here. */
  sequenceBefore(event: EngineEvent): HashHalves | undefined {
    return this.#linkBefore(event)?.sequence;
  }

  /** For each hash of a store its place among the `positions` blocks of its tokens; undefined when that does not show. */
  placesOf(event: EngineEvent, positions: number): readonly number[] | undefined {
    this.#chain = undefined;
    if (!isHashable(event.tokensPerBlock)) return undefined;
    const before = this.#linkBefore(event);
    if (event.hasParent && before === undefined) return undefined;
    for (const scheme of before === undefined ? HASH_SCHEMES : [before.scheme]) {
      const digests = digestsOf(event, positions, scheme, before?.digest ?? scheme.root);
      const places = match(event, digests);
      // A store without hashes proves no scheme.
      if (places === undefined || (places.length === 0 && before === undefined)) continue;
      this.#chain = { scheme, digests };
      return places;
    }
    return undefined;
  }

  /** Without a parent the words of an earlier event's are still in `event`. */
  #linkBefore({ hasParent, parentLo, parentHi }: EngineEvent): Link | undefined {
    return hasParent ? this.#links.get(keyOf(parentLo, parentHi)) : undefined;
  }

  /** Remembers the blocks of the last `placesOf`, as the parents of others; `sequenceAt` gives their sequence hashes. */
  remember(places: readonly number[], sequenceAt: (place: number) => HashHalves): void {
    const chain = this.#chain;
    if (chain === undefined) return;
    for (const place of new Set([...places, chain.digests.length - 1])) {
      const digest = chain.digests[place];
      if (digest === undefined) continue;
      const { lo, hi } = eventHashOf(digest);
      const key = keyOf(lo, hi);
      this.#links.delete(key);
      this.#links.set(key, { scheme: chain.scheme, digest, sequence: sequenceAt(place) });
    }
    for (const oldest of this.#links.keys()) {
      if (this.#links.size <= MAX_LINKS) break;
      this.#links.delete(oldest);
    }
  }
}

function digestsOf(event: EngineEvent, positions: number, scheme: HashScheme, root: Buffer): Buffer[] {
  const { tokens, tokensPerBlock } = event;
  const digests: Buffer[] = [];
  let before = root;
  for (let at = 0; at < positions; at += 1) {
    before = scheme.digest(before, tokens.subarray(at * tokensPerBlock, (at + 1) * tokensPerBlock));
    digests.push(before);
  }
  return digests;
}

/** The places of the event's hashes, which come in order; undefined unless all are found. */
function match({ hashes, hashCount }: EngineEvent, digests: readonly Buffer[]): number[] | undefined {
  const places: number[] = [];
  for (const [place, digest] of digests.entries()) {
    const { lo, hi } = eventHashOf(digest);
    const at = 2 * places.length;
    if (places.length < hashCount && hashes[at] === lo && hashes[at + 1] === hi) places.push(place);
  }
  return places.length === hashCount ? places : undefined;
}

function keyOf(lo: number, hi: number): bigint {
  return (BigInt(hi) << 32n) | BigInt(lo);
}
