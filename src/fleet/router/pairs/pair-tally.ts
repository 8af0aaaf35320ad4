import type { Decision, SeenTransfer, UnsplitReason } from '../routing.js';

/** Prompt tokens of one request beyond which no count is believed: what the router takes of a prompt itself. */
const MAX_TOKENS = 4 * 1024 * 1024;

/** What was split in one group, and what became of it. */
export class PairTally {
  /** Requests that went to two workers. */
  split = 0;
  transfers = 0;
  failedTransfers = 0;
  transferredTokens = 0;
  recomputedTokens = 0;
  transferMs = 0;
  readonly #unsplit = new Map<UnsplitReason, number>();

  /** A decision was made. */
  countDecision({ pair, unsplit }: Pick<Decision, 'pair' | 'unsplit'>): void {
    if (pair !== undefined) this.split += 1;
    else if (unsplit !== undefined) this.#unsplit.set(unsplit, this.unsplitFor(unsplit) + 1);
  }

  /** Whether nothing of its group was ever to be split. */
  get isIdle(): boolean {
    return this.split === 0 && this.#unsplit.size === 0;
  }

  /** Requests that went to one worker, by the reason. */
  unsplitFor(reason: UnsplitReason): number {
    return this.#unsplit.get(reason) ?? 0;
  }

  /** A transfer came to its end. */
  countTransfer({ failure, transferredTokens, recomputedTokens, durationMs }: SeenTransfer): void {
    this.recomputedTokens += tokensIn(recomputedTokens);
    if (failure !== undefined) {
      this.failedTransfers += 1;
      return;
    }
    this.transfers += 1;
    this.transferredTokens += tokensIn(transferredTokens);
    this.transferMs += Number.isFinite(durationMs) && durationMs > 0 ? durationMs : 0;
  }
}

/** What is reported from outside may be any number. */
function tokensIn(count: number): number {
  return Number.isSafeInteger(count) && count > 0 && count <= MAX_TOKENS ? count : 0;
}
