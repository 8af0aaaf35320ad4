import type { Registry } from 'prom-client';
import type { AgreementEffect } from '../../core/agreement/events.js';
import type { FleetView, GroupView } from '../../core/agreement/snapshot.js';
import { faultKindOf } from '../../core/health/worker-fault.js';
import type { FinishedTransfer } from '../../core/pairs/transfer-cost.js';
import { nameSome } from '../../core/text/lists.js';
import { onOneLine } from '../../core/text/printable.js';
import { workerName } from '../../core/text/worker-name.js';
import { FleetHistory } from '../../core/view/fleet-history.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import { type Random, seededRandom } from '../../edge/platform/random.js';
import type { RpcEdge } from '../../edge/rpc/handlers.js';
import { type GroupResults, ListResultsResponse, RouterService } from '../../gen/kvaccord/v1/router.js';
import type { AskedIndex, IndexDirectory } from '../indexer/asked-index.js';
import { PromptHashes, tooLongMessage } from '../indexer/prompt-hashes.js';
import type { ActiveRoute, RouteEnd } from './active-route.js';
import type { CandidateListModules, LeftOut } from './candidate-list.js';
import { DecisionLog, type DecisionLogDetail } from './decision-log.js';
import { EjectionReports } from './ejection-reports.js';
import { type GroupRequest, GroupRouter, type GroupRouterOptions, type Selected } from './group-router.js';
import type { PairKnowledge } from './pairs/pair-knowledge.js';
import { TransferLog } from './pairs/transfer-log.js';
import { type ReservationLimits, Reservations } from './reservations.js';
import {
  type Amendment,
  compare,
  predictedCachedTokens,
  type Reported,
  readReported,
  usableTokens,
} from './results/compare.js';
import type { CacheHits } from './results/lost-hits.js';
import type { Prediction } from './results/prediction.js';
import { toGroupResults } from './results/results-messages.js';
import { RouterMetrics } from './router-metrics.js';
import { createRouterService } from './router-service.js';
import {
  type Decision,
  type Route,
  type RouteRequest,
  type Routing,
  RoutingError,
  type SeenTransfer,
  type Usage,
} from './routing.js';
import { ServedBoard } from './served-board.js';

export interface FleetRouterOptions extends GroupRouterOptions {
  /** Makes each group's choices repeatable; by default they are not. */
  readonly seed?: number | undefined;
  /** What of decisions is logged. */
  readonly decisionLog: DecisionLogDetail;
  /** Of what is reserved over gRPC. */
  readonly reservationLimits?: ReservationLimits;
}

export interface FleetRouterModules extends CandidateListModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly edge: RpcEdge;
  /** Whose indexes are asked; `FleetIndexing` is one. */
  readonly indexes: IndexDirectory;
  /** Takes what pages and terminals show; default one that nobody looks at. */
  readonly history?: FleetHistory;
  /** The agreement; `FleetRunner` is one. */
  readonly fleet: {
    readonly view: FleetView;
    /** The results of a worker contradict its cache view, for this reason; empty: they agree again. */
    doubted(target: string, instanceId: string, reason: string): void;
    /** A worker gets no requests at present, for this reason; empty: it gets requests again. */
    ejected(target: string, reason: string): void;
    /** What is known of the pairs of a group; undefined for none. Absent: every pair may be used. */
    pairsOf?(group: string): PairKnowledge | undefined;
    /** A transfer came to its end; undefined where it is not known what was moved. */
    transferDone?(
      group: string,
      prefillTarget: string,
      decodeTarget: string,
      transfer: FinishedTransfer | undefined,
    ): void;
    /** A transfer failed, or its prompt was computed again; the reason is for an operator. */
    transferFailed?(group: string, prefillTarget: string, decodeTarget: string, reason: string): void;
  };
}

/** One thing that can be asked over HTTP, as a `FleetPart` has it. */
interface ResultsRoute {
  readonly path: string;
  readonly summary: string;
  readonly query: Readonly<Record<string, string>>;
  readonly response: Readonly<Record<string, unknown>>;
  handle(request: { readonly query: URLSearchParams }): unknown;
}

/** Prompts that are looked back at in a second: 2 % of a processor with 1,000 workers and 10,000 tokens. */
const MAX_LOOKS_PER_SECOND = 100;

/** What an operator does about a doubt. */
const DOUBT_TODO =
  'Its cache counts for less until its results agree again. Fix the likeliest cause that is named; kv-accord status --routing shows the numbers.';

/** Characters of what is said of a transfer. */
const MAX_REASON_CHARS = 200;

/** Workers that one line of the log names. */
const MAX_NAMED = 10;

const LEFT_OUT_WORDS: Readonly<Record<LeftOut, string>> = {
  role: 'serve only prefill or only decode, and get no requests: how their engines exchange KV blocks is not known, or is none of what this version speaks (NIXL of vLLM, the bootstrap server of SGLang)',
  alone:
    'serve only prefill or only decode, and get no requests: no worker of the model serves the other part',
  unreachable:
    'get no requests: no address of their OpenAI server is known. Let their sidecars ask the engine (--engine), or name the address with --worker-urls',
};

/**
 * The routing of a fleet: who gets which request, in each group whose gate is
 * open. It never decides by an index other than that of the running epoch: what
 * an index directory does not have any more is not asked (G1, G2).
 */
export class FleetRouter implements Routing {
  readonly services: readonly {
    readonly definition: typeof RouterService;
    readonly implementation: ReturnType<typeof createRouterService>;
  }[];
  readonly targets: readonly string[] = [];
  /** What its process answers below `/api/v1`. */
  readonly routes: readonly ResultsRoute[];
  readonly #options: FleetRouterOptions;
  readonly #modules: FleetRouterModules;
  readonly #metrics: RouterMetrics;
  readonly #history: FleetHistory;
  readonly #hashes = new PromptHashes();
  #looks = { sinceMs: Number.NEGATIVE_INFINITY, count: 0 };
  readonly #reservations: Reservations;
  readonly #board: ServedBoard;
  readonly #ejections: EjectionReports;
  readonly #transfers: TransferLog;
  readonly #groups = new Map<string, GroupRouter>();
  /** The workers that were logged as left out, by group and target. */
  readonly #loggedLeftOut = new Map<string, Set<string>>();

  constructor(options: FleetRouterOptions, modules: FleetRouterModules) {
    this.#options = options;
    this.#modules = modules;
    const { clock, random, registry, edge, fleet } = modules;
    this.#history = modules.history ?? new FleetHistory({ now: () => clock.monotonicMs() });
    this.#reservations = new Reservations(options.reservationLimits ?? {}, { clock, random });
    this.#board = new ServedBoard({ clock, view: () => fleet.view });
    this.#metrics = new RouterMetrics(registry, {
      groups: this.#groups,
      expired: () => this.#reservations.expired,
    });
    this.#transfers = new TransferLog(modules);
    this.#ejections = new EjectionReports({ ...modules, history: this.#history });
    this.services = [
      {
        definition: RouterService,
        implementation: createRouterService({
          edge,
          hashes: this.#hashes,
          reservations: this.#reservations,
          board: this.#board,
          view: () => fleet.view,
          select: (group, request) => this.#select(group, request),
          selectPair: (group, request) => this.#timed(() => this.#open(group).selectPair(request)),
          reserve: (group, request) => this.#reserve(group, request),
          results: (group) => this.#results(group),
          failed: ({ group, target, instanceId, fault }, route) => {
            const kind = faultKindOf(fault?.kind ?? '');
            if (kind === undefined) return;
            const seen = { kind, detail: fault?.detail ?? '' };
            // A route is believed where the worker is its own: nobody's decision is shown with the fault of another.
            if (route?.decision.target === target && route.decision.instanceId === instanceId)
              route.failed(seen);
            else this.#groups.get(group)?.failed(target, instanceId, seen);
          },
        }),
      },
    ];
    this.routes = [
      {
        path: '/results',
        summary: 'Predicted against reported cached tokens by worker and rank, and lost hits',
        query: { group: 'the served model; all when left out' },
        response: {
          type: 'object',
          properties: {
            groups: { type: 'array', items: { type: 'object', description: 'kvaccord.v1.GroupResults' } },
          },
        },
        handle: ({ query }) =>
          ListResultsResponse.toJSON({ groups: this.#results(query.get('group') ?? '') }),
      },
    ];
  }

  /** What is known of the routing of each group; those that were routed. */
  get groups(): ReadonlyMap<string, GroupRouter> {
    return this.#groups;
  }

  /** See `ListResults`; of one group, or of all for an empty name. */
  resultsOf(group: string): readonly GroupResults[] {
    return this.#results(group);
  }

  async route(request: RouteRequest): Promise<Route> {
    const {
      group,
      tokens,
      loraName,
      cacheSalt,
      media,
      isPrefix,
      cacheUse,
      sessionHash,
      excluded,
      fallbacks,
      pairing,
    } = request;
    if (tokens === undefined)
      return this.#reserve(group, {
        hash: undefined,
        tokenCount: undefined,
        loraName,
        cacheUse,
        sessionHash,
        excluded,
        fallbacks,
        pairing,
      });
    const prompt = { tokens, loraName, cacheSalt, media, isPrefix };
    const problem = tooLongMessage(prompt);
    if (problem !== undefined) throw new RoutingError('prompt_too_long', `the prompt's ${problem}`);
    return this.#reserve(group, {
      hash: (contract) => this.#hashes.hash(prompt, contract),
      tokenCount: isPrefix === true ? undefined : tokens.length,
      loraName,
      cacheUse,
      sessionHash,
      excluded,
      fallbacks,
      pairing,
    });
  }

  /** All else begins with the first view. */
  start(statusPage = ''): void {
    this.#board.statusPage = statusPage;
  }

  onEffect(effect: AgreementEffect): void {
    switch (effect.type) {
      case 'epoch_ended':
        this.#groups.get(effect.group)?.shut();
        return;
      case 'group_ended':
        this.#groups.get(effect.group)?.shut();
        this.#groups.delete(effect.group);
        this.#loggedLeftOut.delete(effect.group);
        this.#ejections.end(effect.group);
        this.#history.endGroup(effect.group);
        this.#metrics.remove(effect.group);
        return;
      default:
    }
  }

  onView(view: FleetView): void {
    for (const group of view.groups) {
      const index = group.gateOpen ? this.#modules.indexes.of(group.group) : undefined;
      // An index of another epoch is not that of this view: the next one is on its way.
      if (index === undefined || index.epoch !== group.epoch) {
        this.#groups.get(group.group)?.shut();
        continue;
      }
      if (!this.#groupOf(group.group).show(group, index)) continue;
      this.#ejections.keepOnly(group.group, new Set(group.members.map(({ target }) => target)));
      this.#tellLeftOut(group.group);
    }
    this.#board.refresh();
  }

  async close(): Promise<void> {
    for (const group of this.#groups.values()) group.shut();
    this.#reservations.close();
  }

  #results(wanted: string): GroupResults[] {
    return [...this.#groups]
      .filter(([name]) => wanted === '' || name === wanted)
      .map(([name, routed]) => toGroupResults(name, routed.books.results(), routed));
  }

  #groupOf(name: string): GroupRouter {
    const known = this.#groups.get(name);
    if (known !== undefined) return known;
    const { seed, decisionLog: detail } = this.#options;
    const { clock, random, logger, isReachable } = this.#modules;
    const group = new GroupRouter(name, this.#options, {
      clock,
      random: seed === undefined ? random : seededRandom(seed),
      log: new DecisionLog({ group: name, detail }, { logger }),
      history: this.#history,
      onReleased: (end, route) => this.#released(end, route),
      onSettled: (route) => this.#settled(route),
      onTransferred: (seen, decision) => this.#transferred(seen, decision),
      pairs: () => this.#modules.fleet.pairsOf?.(name),
      onEjection: (change) => {
        if (change.type === 'ejected') group.recorder.ejected(group.traffic.of(change.target));
        this.#ejections.report(name, change);
      },
      ...(isReachable === undefined ? {} : { isReachable }),
    });
    this.#groups.set(name, group);
    return group;
  }

  #select(group: string, request: GroupRequest): Selected {
    return this.#timed(() => this.#open(group).select(request));
  }

  #reserve(group: string, request: GroupRequest): ActiveRoute {
    try {
      return this.#timed(() => this.#open(group).reservePair(request));
    } catch (error) {
      this.#groups.get(group)?.recorder.refused();
      throw error;
    }
  }

  #timed<T>(decide: () => T): T {
    const { clock } = this.#modules;
    const beganMs = clock.monotonicMs();
    const decided = decide();
    this.#metrics.observeDecision(clock.monotonicMs() - beganMs);
    return decided;
  }

  #open(name: string): GroupRouter {
    const group = this.#groups.get(name);
    const index: AskedIndex | undefined = this.#modules.indexes.of(name);
    // Asked each time: whatever the order in which others hear of an epoch's end, its index is not used after it.
    if (group?.index !== undefined && group.index === index) return group;
    throw whyNot(name, this.#modules.fleet.view);
  }

  #released({ prediction, hadFirstToken, usage }: RouteEnd, route: ActiveRoute): void {
    const { group, tokensPerBlock, promptBlocks, cachedBlocks } = prediction.decision;
    const routed = this.#groups.get(group);
    // The group ended meanwhile, and its series with it.
    if (routed === undefined) return;
    const { tally, books, traffic, recorder } = routed;
    if (prediction.part === 'decode') {
      // What it reports as cached is what the prefill worker found, or what came from there: neither is of its own cache.
      if (usage !== undefined)
        traffic.of(prediction.decision.target)?.countUsage({ ...usage, promptTokens: 0 });
      recorder.released(route, {
        outputTokens: readReported(usage?.outputTokens ?? 0, 0)?.promptTokens,
      });
      return;
    }
    if (usage !== undefined) traffic.of(prediction.decision.target)?.countUsage(usage);
    if (hadFirstToken || usage !== undefined) this.#countHits(routed, prediction, usage);
    const reported = usage === undefined ? undefined : books.read(prediction.decision, usage);
    if (prediction.part !== 'prefill')
      recorder.released(route, {
        cachedTokens: reported?.cachedTokens,
        outputTokens: readReported(usage?.outputTokens ?? 0, 0)?.promptTokens,
      });
    if (reported === undefined) {
      // Who never came to a first token found nothing cached anywhere.
      if (hadFirstToken && promptBlocks > 0)
        this.#metrics.observeCachedPart(group, cachedBlocks / promptBlocks);
      return;
    }
    tally.predictedCachedTokens += predictedCachedTokens(prediction);
    tally.actualCachedTokens += reported.cachedTokens;
    const blocks = Math.ceil(reported.promptTokens / tokensPerBlock);
    this.#metrics.observeCachedPart(group, Math.floor(reported.cachedTokens / tokensPerBlock) / blocks);
    const { overTokens, underTokens } = compare(prediction, reported);
    if (overTokens === 0 && underTokens === 0) this.#record(routed, prediction, reported);
    else if (route.isSettled) this.#record(routed, prediction, reported, route.amendment());
    // Events of others who were there first may still be on their way.
    else route.parked = reported;
  }

  /** What became of the blocks between the two workers of a request. */
  #transferred(seen: SeenTransfer, decision: Decision): void {
    const { group, target, pair } = decision;
    const routed = this.#groups.get(group);
    if (routed === undefined || pair === undefined) return;
    routed.tally.pairs.countTransfer(seen);
    this.#transfers.seen(seen, decision);
    const { transferredTokens, recomputedTokens, durationMs, failure } = seen;
    const { fleet } = this.#modules;
    const reason = failure ?? (recomputedTokens > 0 ? recomputedWords(seen) : undefined);
    if (reason !== undefined) {
      fleet.transferFailed?.(group, pair.prefill.target, target, onOneLine(reason, MAX_REASON_CHARS));
      return;
    }
    const bytesPerToken = routed.bytesPerTokenOf(target);
    const moved =
      bytesPerToken === undefined ? undefined : { sizeBytes: transferredTokens * bytesPerToken, durationMs };
    fleet.transferDone?.(group, pair.prefill.target, target, moved);
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
      if (this.#options.mode === 'kv')
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

  #settled(route: ActiveRoute): void {
    const { prediction, parked } = route;
    const routed = this.#groups.get(prediction.decision.group);
    if (routed === undefined) return;
    if (parked !== undefined) this.#record(routed, prediction, parked, route.amendment());
    if (prediction.view !== 'exact' || !this.#mayLook()) return;
    const stored = route.stored();
    const recorded = stored === undefined ? undefined : routed.recordStored(prediction, stored);
    if (recorded?.hasTurned === true) this.#tellDoubt(routed, prediction.decision);
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
    if (result?.hasTurned === true) this.#tellDoubt(routed, prediction.decision);
  }

  /** Says that a worker's results contradict its view, or do so no longer. */
  #tellDoubt({ books }: GroupRouter, { group, target, workerId, instanceId }: Decision): void {
    const worker = workerName({ workerId, target });
    const fields = { group, worker_id: workerId, worker: target };
    const doubted = books.resultsOf(target).filter(({ isDoubted }) => isDoubted);
    const reason = doubted.map(({ doubtReason }) => doubtReason).join('; ');
    const { logger, fleet } = this.#modules;
    fleet.doubted(target, instanceId, reason);
    const about = { group, worker, target } as const;
    if (reason === '') {
      const text = `Worker ${worker} is no longer doubted: its results agree with its cache view again.`;
      this.#history.note({ kind: 'trusted', tone: 'good', ...about, text, todo: '' });
      logger.info(fields, text);
      return;
    }
    const text = `Worker ${worker} is doubted: ${reason}.`;
    this.#history.note({ kind: 'doubted', tone: 'warn', ...about, text, todo: DOUBT_TODO });
    logger.warn(fields, text);
  }

  #nameOf(group: string, target: string): string {
    const { groups } = this.#modules.fleet.view;
    const members = groups.find((each) => each.group === group)?.members ?? [];
    return workerName(members.find((member) => member.target === target) ?? { workerId: '', target });
  }

  /** Logs once each worker that the agreement offers and that gets nothing all the same. */
  #tellLeftOut(group: string): void {
    const leftOut = this.#groups.get(group)?.list.leftOut ?? new Map<string, LeftOut>();
    const logged = this.#loggedLeftOut.get(group) ?? new Set<string>();
    for (const target of logged) if (!leftOut.has(target)) logged.delete(target);
    for (const why of ['role', 'alone', 'unreachable'] as const) {
      const news = [...leftOut].flatMap(([target, its]) =>
        its === why && !logged.has(target) ? [target] : [],
      );
      if (news.length === 0) continue;
      for (const target of news) logged.add(target);
      const named = nameSome(
        news.map((target) => this.#nameOf(group, target)),
        MAX_NAMED,
      );
      this.#modules.logger.warn({ group }, `Workers of "${group}" ${LEFT_OUT_WORDS[why]}: ${named}.`);
    }
    this.#loggedLeftOut.set(group, logged);
  }
}

function recomputedWords({ recomputedTokens, transferredTokens }: SeenTransfer): string {
  return `the decode worker computed ${recomputedTokens} of ${recomputedTokens + transferredTokens} prompt tokens again`;
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

/** Why a group is not routed. */
function whyNot(name: string, view: FleetView): RoutingError {
  const group: GroupView | undefined = view.groups.find((candidate) => candidate.group === name);
  if (group === undefined)
    return new RoutingError('unknown_group', `nobody serves "${name.slice(0, 256)}"`, view.reasons);
  if (group.gateOpen)
    return new RoutingError('no_index', `the epoch of "${name}" has no index; the log says why`);
  return new RoutingError('gate_shut', `the gate of "${name}" is shut`, group.reasons);
}
