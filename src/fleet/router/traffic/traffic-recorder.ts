import { workerName } from '../../../core/text/worker-name.js';
import type { FleetHistory } from '../../../core/view/fleet-history.js';
import type { Turn } from '../../../core/view/routing-history.js';
import { VIEW_LIMITS, type ViewCandidate } from '../../../core/view/view-document.js';
import type { ActiveRoute } from '../active-route.js';
import type { Candidate, CandidateCost } from '../choice/candidates.js';
import type { Decided } from '../choice/reserved-request.js';
import type { LostReason } from '../results/lost-hits.js';
import type { Prediction } from '../results/prediction.js';
import type { RouterMode } from '../routing.js';
import type { WorkerTraffic } from './worker-traffic.js';

/** Part of a prompt that must have been computed before, somewhere, for the request to count as a follow-up turn. */
const FOLLOW_UP_PART = 0.5;

/** What can be asked of the decision that was made last. */
export interface LastDecision {
  cheapest(most: number, chosen: Candidate): readonly CandidateCost[];
  readonly candidateCount: number;
}

/** Writes what happens to the requests of one group into the history that pages and terminals show. */
export class TrafficRecorder {
  readonly #group: string;
  readonly #mode: RouterMode;
  readonly #history: FleetHistory;

  constructor(
    { group, mode }: { readonly group: string; readonly mode: RouterMode },
    modules: { readonly history: FleetHistory },
  ) {
    this.#group = group;
    this.#mode = mode;
    this.#history = modules.history;
  }

  /** A worker was chosen: to be called before the next decision is made. */
  decided(route: ActiveRoute, decided: Decided, last: LastDecision): void {
    const bucket = this.#history.bucketOf(this.#group);
    if (bucket === undefined) return;
    bucket.decisions += 1;
    const { prediction, decision } = route;
    if (decision.promptTokens !== undefined) bucket.promptTokens += decision.promptTokens;
    const { nowMs, decisions } = this.#history;
    if (!decisions.wants(nowMs)) return;
    const { candidate } = decided;
    route.note = decisions.add({
      atMs: nowMs,
      group: this.#group,
      epoch: decision.epoch,
      worker: workerName(candidate),
      target: candidate.target,
      dataParallelRank: candidate.rankCount > 1 ? candidate.rank : undefined,
      promptTokens: decision.promptTokens,
      promptBlocks: decision.promptBlocks,
      cachedBlocks: decision.cachedBlocks,
      bestBlocks: decided.bestBlocks,
      routingMode: decision.routingMode,
      turn: turnOf(prediction),
      why: whyChosen(prediction, this.#mode),
      lostReason: decided.lostReason,
      candidates: last
        .cheapest(VIEW_LIMITS.candidates, candidate)
        .map((cost) => candidateOf(cost, cost.candidate === candidate)),
      candidateCount: last.candidateCount,
    });
  }

  /** No worker could be chosen. */
  refused(): void {
    const bucket = this.#history.bucketOf(this.#group);
    if (bucket !== undefined) bucket.refused += 1;
  }

  /** Its first token came. */
  answered(route: ActiveRoute, durationMs: number): void {
    this.#history.bucketOf(this.#group)?.answer(turnOf(route.prediction), durationMs);
    route.note?.learn({ firstTokenMs: Math.round(durationMs) });
  }

  /** A worker failed a request, of which it is known which one it was where `route` is given. */
  failed(seen: string, route?: ActiveRoute): void {
    this.#history.bucketOf(this.#group)?.fail(seen);
    route?.note?.learn({ failure: seen });
  }

  /** A request is over, with what its engine reported. */
  released(
    route: ActiveRoute,
    reported: { readonly cachedTokens?: number | undefined; readonly outputTokens?: number | undefined },
  ): void {
    const { cachedTokens, outputTokens } = reported;
    const bucket = this.#history.bucketOf(this.#group);
    if (bucket !== undefined) {
      bucket.finished += 1;
      bucket.engineTokens += cachedTokens ?? 0;
      bucket.outputTokens += outputTokens ?? 0;
    }
    route.note?.learn({ engineTokens: cachedTokens, outputTokens, isOver: true });
  }

  /** What caches held for a request that was computed. */
  hits(bestTokens: number, chosenTokens: number): void {
    const bucket = this.#history.bucketOf(this.#group);
    if (bucket === undefined) return;
    bucket.bestTokens += bestTokens;
    bucket.chosenTokens += chosenTokens;
  }

  /** A request lost so many cached tokens. */
  lost(reason: LostReason, tokens: number): void {
    this.#history.bucketOf(this.#group)?.lose(reason, tokens);
  }

  /** A worker was ejected. */
  ejected(worker: WorkerTraffic | undefined): void {
    if (worker !== undefined) worker.ejections += 1;
    const bucket = this.#history.bucketOf(this.#group);
    if (bucket !== undefined) bucket.ejections += 1;
  }
}

/** A follow-up where any worker held half of the prompt or more, or was about to compute it. */
function turnOf({ decision, bestBlocks, inFlightBlocks }: Prediction): Turn {
  const { promptBlocks } = decision;
  const known = Math.max(bestBlocks, inFlightBlocks);
  return promptBlocks > 0 && known >= FOLLOW_UP_PART * promptBlocks ? 'follow_up' : 'first';
}

const LOST_REASONS: Readonly<Partial<Record<LostReason, string>>> = {
  load: 'the best holder is too busy',
  temperature: 'drawn by chance (--router-temperature)',
  draining: 'the best holder is draining',
  lora: 'the best holder does not have the adapter',
  ejected: 'the best holder is ejected',
  retried: 'the best holder failed this request before',
  doubted: "the best holder's results contradict its cache view",
};

/** Why this worker, in a few words. */
function whyChosen(
  { decision, bestBlocks, lostReason, inFlightBlocks }: Prediction,
  mode: RouterMode,
): string {
  if (decision.isTrial === true) return 'the try of an ejected worker';
  if (decision.pair !== undefined)
    return `load and transfer: ${workerName(decision.pair.prefill)} computes the prompt`;
  if (mode !== 'kv') return `by --router-mode ${mode}`;
  if (lostReason !== undefined) return LOST_REASONS[lostReason] ?? lostReason;
  if (decision.promptBlocks === 0) return 'least load: the tokens are not known';
  if (bestBlocks > 0) return 'lowest cost: it holds the longest prefix';
  return inFlightBlocks > 0
    ? 'lowest cost: it computes the same prefix now'
    : 'lowest cost: no cache holds a prefix';
}

function candidateOf(cost: CandidateCost, isChosen: boolean): ViewCandidate {
  const { candidate, logit, potentialActiveBlocks, potentialPrefillBlocks, cachedBlocks } = cost;
  return {
    worker: workerName(candidate),
    ...(candidate.rankCount > 1 ? { dataParallelRank: candidate.rank } : {}),
    cachedBlocks: cachedBlocks.at(-1) ?? 0,
    activeBlocks: Math.round(potentialActiveBlocks),
    prefillBlocks: Math.round(potentialPrefillBlocks * 10) / 10,
    cost: Math.round(logit * 10) / 10,
    isChosen,
  };
}
