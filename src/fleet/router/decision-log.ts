import { workerName } from '../../core/text/worker-name.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { Candidate, CandidateCost } from './choice/candidates.js';
import type { Prediction } from './results/prediction.js';
import type { Result } from './results/result-books.js';
import type { Decision, PairDecision, RouterMode } from './routing.js';

/** What of decisions is logged: nothing, who was chosen (info), or also what each candidate would cost (debug). */
export type DecisionLogDetail = 'none' | 'chosen' | 'candidates';

/**
 * Logs the decisions of one group, in the words of Dynamo's documentation.
 * All but the group stands in the sentence alone: this is one line for each
 * request, and every field of its own costs more than the rest of the line,
 * because the logger looks into it for secrets.
 */
export class DecisionLog {
  readonly detail: DecisionLogDetail;
  readonly #logger: Logger;

  constructor(
    { group, detail }: { readonly group: string; readonly detail: DecisionLogDetail },
    modules: { readonly logger: Logger },
  ) {
    this.detail = detail;
    this.#logger = modules.logger.child({ group });
  }

  /** What each candidate would cost. */
  candidates(costs: readonly CandidateCost[]): void {
    for (const cost of costs) this.#logger.debug({}, formulaText(cost));
  }

  /** What its engine reported of it. */
  result(result: Result): void {
    if (this.detail === 'candidates') this.#logger.debug({}, resultText(result));
  }

  /** Who was chosen. */
  chosen(prediction: Prediction, { candidate, logit }: CandidateCost, routerMode: RouterMode): void {
    if (this.detail === 'none') return;
    const { decision, bestBlocks, lostReason, inFlightBlocks } = prediction;
    const { cachedBlocks, promptBlocks, routingMode, pair, unsplit } = decision;
    if (pair !== undefined) {
      this.#logger.info({}, pairText(decision, pair, logit, routerMode));
      return;
    }
    const alone = unsplit === undefined ? '' : `, unsplit: ${unsplit}`;
    const flying = inFlightBlocks > cachedBlocks ? `, on_their_way: ${inFlightBlocks}` : '';
    const lost = lostReason === undefined ? '' : `, best: ${bestBlocks}, lost to: ${lostReason}`;
    this.#logger.info(
      {},
      `Selected worker: ${nameOf(candidate)} (cached_blocks: ${cachedBlocks} of ${promptBlocks}${flying}${lost}, mode: ${routerMode}, ${routingMode}, logit: ${logit.toFixed(1)}${alone})`,
    );
  }
}

/** `Selected pair: prefill-1 (10.0.0.1:50061) → decode-1 (10.0.0.2:50061) (cached_blocks: 3 of 20, …)`. */
function pairText(
  decision: Decision,
  { prefill, protocol, pairClass, expectedTransferMs, transferredTokens }: PairDecision,
  logit: number,
  routerMode: RouterMode,
): string {
  const transfer =
    expectedTransferMs === undefined
      ? 'not known'
      : `${transferredTokens} tokens in ${expectedTransferMs.toFixed(1)} ms`;
  const cached = `cached_blocks: ${prefill.cachedBlocks} of ${prefill.promptBlocks}, at the decode worker: ${decision.cachedBlocks}`;
  return `Selected pair: ${nameOf(prefill)} → ${nameOf(decision)} (${cached}, class: ${pairClass}, transfer: ${transfer}, by: ${protocol}, mode: ${routerMode}, ${prefill.routingMode}, decode cost: ${logit.toFixed(1)})`;
}

/** `Result of worker_1: 256 of 320 prompt tokens cached, 256 predicted`, and what contradicts that. */
function resultText({ prediction, reported, comparison }: Result): string {
  const { predictedTokens, reportedTokens, overTokens, underTokens } = comparison;
  const worker = nameOf(prediction.decision);
  const odd =
    overTokens > 0
      ? `: ${overTokens} predicted that it had not`
      : underTokens > 0
        ? `: ${underTokens} beyond what was known`
        : '';
  return `Result of ${worker}: ${reportedTokens} of ${reported.promptTokens} prompt tokens cached, ${predictedTokens} predicted${odd}`;
}

/** `Formula for worker_1: 125.3 = 1.0 * 100.5 + 25.0 (cached_blocks: 15)`. @internal */
export function formulaText(cost: CandidateCost): string {
  const { logit, overlapScoreWeight, potentialPrefillBlocks, potentialActiveBlocks, cachedBlocks } = cost;
  const parts = `${overlapScoreWeight.toFixed(1)} * ${potentialPrefillBlocks.toFixed(1)} + ${potentialActiveBlocks.toFixed(1)}`;
  return `Formula for ${nameOf(cost.candidate)}: ${logit.toFixed(1)} = ${parts} (cached_blocks: ${cachedBlocks.at(-1) ?? 0})`;
}

/** The worker's name, with its rank where it has several: `worker-a/1 (10.0.0.1:50061)`. */
function nameOf({ target, workerId, rank, rankCount }: Candidate | Decision): string {
  if (rankCount === 1) return workerName({ workerId, target });
  return workerId === '' || workerId === target ? `${target}/${rank}` : `${workerId}/${rank} (${target})`;
}
