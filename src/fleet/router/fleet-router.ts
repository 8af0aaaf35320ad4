import type { Registry } from 'prom-client';
import type { AgreementEffect } from '../../core/agreement/state/events.js';
import type { FleetView, GroupView } from '../../core/agreement/view/snapshot.js';
import { faultKindOf } from '../../core/health/worker-fault.js';
import type { FinishedTransfer } from '../../core/pairs/transfer-cost.js';
import { onOneLine } from '../../core/text/printable.js';
import { FleetHistory } from '../../core/view/fleet-history.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import { type Random, seededRandom } from '../../edge/platform/random.js';
import type { RpcEdge } from '../../edge/rpc/handlers.js';
import { type GroupResults, ListResultsResponse, RouterService } from '../../gen/kvaccord/v1/router.js';
import type { AskedIndex, IndexDirectory } from '../indexer/index/asked-index.js';
import { PromptHashes, tooLongMessage } from '../indexer/prompt-hashes.js';
import type { ActiveRoute } from './active-route.js';
import type { CandidateListModules } from './choice/candidate-list.js';
import { DecisionLog, type DecisionLogDetail } from './decision-log.js';
import { EjectionReports } from './ejection-reports.js';
import type { GroupRequest, Selected } from './group-request.js';
import { GroupRouter, type GroupRouterOptions } from './group-router.js';
import { LeftOutLog } from './left-out-log.js';
import type { PairKnowledge } from './pairs/pair-knowledge.js';
import { TransferLog } from './pairs/transfer-log.js';
import { LookBack } from './results/look-back.js';
import { toGroupResults } from './results/results-messages.js';
import { RouterMetrics } from './router-metrics.js';
import {
  type Decision,
  type Route,
  type RouteRequest,
  type Routing,
  RoutingError,
  type SeenTransfer,
} from './routing.js';
import { type ReservationLimits, Reservations } from './service/reservations.js';
import { createRouterService } from './service/router-service.js';
import { ServedBoard } from './service/served-board.js';

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

/** Characters of what is said of a transfer. */
const MAX_REASON_CHARS = 200;

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
  readonly #reservations: Reservations;
  readonly #board: ServedBoard;
  readonly #ejections: EjectionReports;
  readonly #transfers: TransferLog;
  readonly #lookBack: LookBack;
  readonly #leftOut: LeftOutLog;
  readonly #groups = new Map<string, GroupRouter>();

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
    this.#leftOut = new LeftOutLog(modules);
    this.#lookBack = new LookBack({
      ...modules,
      history: this.#history,
      metrics: this.#metrics,
      groups: this.#groups,
      usesCaches: options.mode === 'kv',
    });
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
          selectPair: (group, request) => this.#timed(() => this.#open(group).decisions.selectPair(request)),
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
    const { group, tokens, cacheSalt, media, isPrefix, ...rest } = request;
    if (tokens === undefined)
      return this.#reserve(group, { ...rest, hash: undefined, tokenCount: undefined });
    const prompt = { tokens, loraName: rest.loraName, cacheSalt, media, isPrefix };
    const problem = tooLongMessage(prompt);
    if (problem !== undefined) throw new RoutingError('prompt_too_long', `the prompt's ${problem}`);
    return this.#reserve(group, {
      ...rest,
      hash: (contract) => this.#hashes.hash(prompt, contract),
      tokenCount: isPrefix === true ? undefined : tokens.length,
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
        this.#leftOut.end(effect.group);
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
      const routed = this.#groupOf(group.group);
      if (!routed.show(group, index)) continue;
      this.#ejections.keepOnly(group.group, new Set(group.members.map(({ target }) => target)));
      this.#leftOut.report(group.group, routed.list.leftOut, group.members);
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
      onReleased: (end, route) => this.#lookBack.released(end, route),
      onSettled: (route) => this.#lookBack.settled(route),
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
    return this.#timed(() => this.#open(group).decisions.select(request));
  }

  #reserve(group: string, request: GroupRequest): ActiveRoute {
    try {
      return this.#timed(() => this.#open(group).decisions.reserve(request));
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

  /** What became of the blocks between the two workers of a request. */
  #transferred(seen: SeenTransfer, decision: Decision): void {
    const { group, target, pair } = decision;
    const routed = this.#groups.get(group);
    if (routed === undefined || pair === undefined) return;
    routed.tally.pairs.countTransfer(seen);
    this.#transfers.seen(seen, decision);
    const { transferredTokens, recomputedTokens, durationMs, failure } = seen;
    const { fleet } = this.#modules;
    const reason = failure ?? (recomputedTokens > 0 ? recomputedMessage(seen) : undefined);
    if (reason !== undefined) {
      fleet.transferFailed?.(group, pair.prefill.target, target, onOneLine(reason, MAX_REASON_CHARS));
      return;
    }
    const bytesPerToken = routed.bytesPerTokenOf(target);
    const moved =
      bytesPerToken === undefined ? undefined : { sizeBytes: transferredTokens * bytesPerToken, durationMs };
    fleet.transferDone?.(group, pair.prefill.target, target, moved);
  }
}

function recomputedMessage({ recomputedTokens, transferredTokens }: SeenTransfer): string {
  return `the decode worker computed ${recomputedTokens} of ${recomputedTokens + transferredTokens} prompt tokens again`;
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
