import { workerName } from '../../../core/text/worker-name.js';
import type { FleetHistory } from '../../../core/view/fleet-history.js';
import type { Clock } from '../../../edge/platform/clock.js';
import type { Logger } from '../../../edge/platform/logger.js';
import type { ActiveRoute, RouteEnd } from '../active-route.js';
import type { GroupRouter } from '../group-router.js';
import type { Decision, Usage } from '../routing.js';
import {
  type Amendment,
  compare,
  predictedCachedTokens,
  type Reported,
  readReported,
  usableTokens,
} from './compare.js';
import type { CacheHits } from './lost-hits.js';
import type { Prediction } from './prediction.js';

export interface LookBackModules {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Takes what pages and terminals show. */
  readonly history: FleetHistory;
  /** Takes which part of a prompt was cached. */
  readonly metrics: { observeCachedPart(group: string, part: number): void };
  readonly fleet: {
    /** The results of a worker contradict its cache view, for this reason; empty: they agree again. */
    doubted(target: string, instanceId: string, reason: string): void;
  };
  /** By name; what belongs to a group that has ended is let go. */
  readonly groups: ReadonlyMap<string, GroupRouter>;
  /** Whether decisions go by caches: only then a prompt whose tokens are not known has lost something. */
  readonly usesCaches: boolean;
}

/** Prompts that are looked back at in a second: 2 % of a processor with 1,000 workers and 10,000 tokens. */
const MAX_LOOKS_PER_SECOND = 100;

/** What an operator does about a doubt. */
const DOUBT_TODO =
  'Its cache counts for less until its results agree again. Fix the likeliest cause that is named; kv-accord status --routing shows the numbers.';

/** Compares what was predicted of a request with what its engine says of it, once it has ended. */
export class LookBack {
  readonly #modules: LookBackModules;
  #looks = { sinceMs: Number.NEGATIVE_INFINITY, count: 0 };

  constructor(modules: LookBackModules) {
    this.#modules = modules;
  }

  /** A request has ended. */
  released({ prediction, hadFirstToken, usage }: RouteEnd, route: ActiveRoute): void {
    const { decision } = prediction;
    const routed = this.#modules.groups.get(decision.group);
    if (routed === undefined) return;
    const { books, traffic, recorder } = routed;
    const outputTokens = readReported(usage?.outputTokens ?? 0, 0)?.promptTokens;
    const isDecode = prediction.part === 'decode';
    if (usage !== undefined)
      // What a decode worker reports as cached is what the prefill worker found, or what came from there.
      traffic.of(decision.target)?.countUsage(isDecode ? { ...usage, promptTokens: 0 } : usage);
    if (isDecode) {
      recorder.released(route, { outputTokens });
      return;
    }
    if (hadFirstToken || usage !== undefined) this.#countHits(routed, prediction, usage);
    const reported = usage === undefined ? undefined : books.read(decision, usage);
    if (prediction.part !== 'prefill')
      recorder.released(route, { cachedTokens: reported?.cachedTokens, outputTokens });
    if (reported === undefined) {
      const { group, promptBlocks, cachedBlocks } = decision;
      // Who never came to a first token found nothing cached anywhere.
      if (hadFirstToken && promptBlocks > 0)
        this.#modules.metrics.observeCachedPart(group, cachedBlocks / promptBlocks);
      return;
    }
    this.#judge(routed, prediction, reported, route);
  }

  /** The index has heard of what a request stored. */
  settled(route: ActiveRoute): void {
    const { prediction, parked } = route;
    const routed = this.#modules.groups.get(prediction.decision.group);
    if (routed === undefined) return;
    if (parked !== undefined) this.#record(routed, prediction, parked, route.amendment());
    if (prediction.view !== 'exact' || !this.#mayLook()) return;
    const stored = route.stored();
    const recorded = stored === undefined ? undefined : routed.recordStored(prediction, stored);
    if (recorded?.hasTurned === true) this.#reportDoubt(routed, prediction.decision);
  }

  #judge(routed: GroupRouter, prediction: Prediction, reported: Reported, route: ActiveRoute): void {
    const { tally } = routed;
    const { group, tokensPerBlock } = prediction.decision;
    const { promptTokens, cachedTokens } = reported;
    tally.predictedCachedTokens += predictedCachedTokens(prediction);
    tally.actualCachedTokens += cachedTokens;
    const blocks = Math.ceil(promptTokens / tokensPerBlock);
    this.#modules.metrics.observeCachedPart(group, Math.floor(cachedTokens / tokensPerBlock) / blocks);
    const { overTokens, underTokens } = compare(prediction, reported);
    if (overTokens === 0 && underTokens === 0) this.#record(routed, prediction, reported);
    else if (route.isSettled) this.#record(routed, prediction, reported, route.amendment());
    // Events of others who were there first may still be on their way.
    else route.parked = reported;
  }

  /** What caches held for a request that was computed. */
  #countHits(
    { tally: { hits }, recorder }: GroupRouter,
    prediction: Prediction,
    usage: Usage | undefined,
  ): void {
    const { decision, bestBlocks, lostReason } = prediction;
    if (decision.promptTokens === undefined && prediction.prefixTokens === undefined) {
      // No more than what was computed can have been lost.
      const most = usage === undefined ? 0 : usage.promptTokens - (usage.cachedTokens ?? 0);
      if (this.#modules.usesCaches)
        hits.lose('unknown_tokens', readReported(usage?.promptTokens ?? 0, 0) === undefined ? 0 : most);
      return;
    }
    const best = usableTokens(prediction, bestBlocks);
    const chosen = predictedCachedTokens(prediction);
    hits.bestTokens += best;
    hits.chosenTokens += chosen;
    recorder.hits(best, chosen);
    if (lostReason !== undefined) hits.lose(lostReason, best - chosen);
  }

  /** A few prompts a second are looked back at: each look costs about what a decision does. */
  #mayLook(): boolean {
    const nowMs = this.#modules.clock.monotonicMs();
    if (nowMs - this.#looks.sinceMs >= 1_000) this.#looks = { sinceMs: nowMs, count: 0 };
    this.#looks.count += 1;
    return this.#looks.count <= MAX_LOOKS_PER_SECOND;
  }

  #record(routed: GroupRouter, prediction: Prediction, reported: Reported, amendment?: Amendment): void {
    const result = routed.record(prediction, reported, amendment);
    countEngineLoss(routed.tally.hits, prediction, reported, amendment);
    if (result?.hasTurned === true) this.#reportDoubt(routed, prediction.decision);
  }

  /** Says that a worker's results contradict its view, or do so no longer. */
  #reportDoubt({ books }: GroupRouter, { group, target, workerId, instanceId }: Decision): void {
    const worker = workerName({ workerId, target });
    const fields = { group, worker_id: workerId, worker: target };
    const doubted = books.resultsOf(target).filter(({ isDoubted }) => isDoubted);
    const reason = doubted.map(({ doubtReason }) => doubtReason).join('; ');
    const { fleet, history, logger } = this.#modules;
    fleet.doubted(target, instanceId, reason);
    const about = { group, worker, target } as const;
    if (reason === '') {
      const text = `Worker ${worker} is no longer doubted: its results agree with its cache view again.`;
      history.note({ kind: 'trusted', tone: 'good', ...about, text, todo: '' });
      logger.info(fields, text);
      return;
    }
    const text = `Worker ${worker} is doubted: ${reason}.`;
    history.note({ kind: 'doubted', tone: 'warn', ...about, text, todo: DOUBT_TODO });
    logger.warn(fields, text);
  }
}

/** What of that the chosen engine did not find after all. */
function countEngineLoss(
  hits: CacheHits,
  prediction: Prediction,
  { cachedTokens }: Reported,
  { keptBlocks = Number.POSITIVE_INFINITY }: Amendment = {},
): void {
  const lost = predictedCachedTokens(prediction) - cachedTokens;
  if (lost <= 0 || prediction.view === 'none') return;
  if (keptBlocks < prediction.decision.cachedBlocks) hits.lose('evicted', lost);
  else
    hits.lose(
      prediction.deviceBlocks < prediction.decision.cachedBlocks ? 'lower_tier' : 'contradicted',
      lost,
    );
}
