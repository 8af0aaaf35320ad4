import type { RankStatus } from '../../../core/relay/relay.js';

/** What is known of a rank from its batches alone. */
type Knowledge =
  | { readonly picture: 'exact' }
  | {
      readonly picture: 'partial';
      readonly reason: string;
      readonly unknownBefore?: number;
      readonly awaitsFirstBatch?: boolean;
    }
  | { readonly picture: 'none'; readonly reason: string };

/** What one rank's cache view is worth, and why not more, in words for an operator. */
export class RankKnowledge {
  #knowledge: Knowledge;
  #hasOrphans = false;
  #isBuilding = false;

  constructor(reason: string) {
    this.#knowledge = { picture: 'none', reason };
  }

  get isNone(): boolean {
    return this.#knowledge.picture === 'none';
  }

  /** Whether every batch of the engine is in the cache view, as far as was heard. */
  get isWhole(): boolean {
    return this.#knowledge.picture === 'exact';
  }

  /** Whether a replay from the oldest batch is under way. */
  get isBuilding(): boolean {
    return this.#isBuilding;
  }

  /** The cache view would gain from a replay that begins before this batch. */
  get knownFrom(): number {
    const known = this.#knowledge;
    if (known.picture === 'exact') return 1;
    return (known.picture === 'partial' ? known.unknownBefore : undefined) ?? Number.POSITIVE_INFINITY;
  }

  /** The cache view is empty, and nothing is known. */
  drop(reason: string): void {
    this.#knowledge = { picture: 'none', reason };
    this.#hasOrphans = false;
  }

  /** Something may be known, but never all. */
  limit(reason: string): void {
    this.#knowledge = { picture: 'partial', reason };
  }

  /** Nothing was heard yet, and the first batch shows what is known. */
  awaitFirstBatch(reason: string): void {
    this.#knowledge = { picture: 'partial', reason, awaitsFirstBatch: true };
  }

  /** Every block of the engine is in the cache view. */
  complete(): void {
    this.#knowledge = { picture: 'exact' };
    this.#hasOrphans = false;
  }

  /** The cache view begins with this batch. */
  beginWith(sequence: number): void {
    if (sequence === 0) {
      this.#knowledge = { picture: 'exact' };
      return;
    }
    const known = this.#knowledge;
    const cause = known.picture === 'exact' ? '' : known.reason.replace(/ \(.*\)$/, '');
    const why = cause === '' ? '' : ` (${cause})`;
    this.#knowledge = {
      picture: 'partial',
      reason: `what the engine stored before its batch ${sequence} is unknown${why}`,
      unknownBefore: sequence,
    };
  }

  building(isBuilding: boolean): void {
    this.#isBuilding = isBuilding;
  }

  /** Blocks were stored whose parents are not known. */
  orphaned(): void {
    this.#hasOrphans = true;
  }

  /**
   * `doubt`: why the engine may hold something else than was heard; it
   * outweighs all that is known. `flaw`: what the cache view itself says against
   * it. `approximation`: why a hit among its blocks cannot be predicted. Each
   * is undefined when nothing does.
   */
  describe(
    doubt: string | undefined,
    flaw: string | undefined,
    approximation: string | undefined,
  ): Pick<RankStatus, 'picture' | 'reason' | 'unknownBeforeSequence' | 'awaitsFirstBatch'> {
    const known = this.#knowledge;
    if (known.picture === 'none') return known;
    if (doubt !== undefined) return { picture: 'stale', reason: doubt };
    if (known.picture === 'partial') {
      const { reason, unknownBefore, awaitsFirstBatch } = known;
      return {
        ...(approximation === undefined
          ? { picture: 'partial', reason }
          : { picture: 'approximate', reason: approximation }),
        ...(unknownBefore === undefined ? {} : { unknownBeforeSequence: unknownBefore }),
        ...(awaitsFirstBatch === undefined ? {} : { awaitsFirstBatch }),
      };
    }
    const reason = this.#isBuilding
      ? 'it is being built from the batches that the engine keeps'
      : this.#hasOrphans
        ? 'blocks were stored that follow one that is not known'
        : flaw;
    if (approximation !== undefined) return { picture: 'approximate', reason: approximation };
    return reason === undefined ? { picture: 'exact', reason: '' } : { picture: 'partial', reason };
  }
}
