import type { GroupView } from '../../core/agreement/view/snapshot.js';
import {
  DEFAULT_EJECTION_OPTIONS,
  type EjectionChange,
  type EjectionOptions,
  Ejections,
} from '../../core/health/ejections.js';
import type { WorkerFault } from '../../core/health/worker-fault.js';
import type { FleetHistory } from '../../core/view/fleet-history.js';
import type { Clock } from '../../edge/platform/clock.js';
import { UnorderedSet } from '../../edge/platform/data/unordered-set.js';
import type { AskedIndex } from '../indexer/index/asked-index.js';
import { ActiveRoute, type RouteEnd, type RouteListener } from './active-route.js';
import { CandidateList, type CandidateListModules } from './choice/candidate-list.js';
import type { Reservation } from './choice/reserved-request.js';
import {
  type RankLoad,
  WorkerSelector,
  type WorkerSelectorModules,
  type WorkerSelectorOptions,
} from './choice/worker-selector.js';
import type { DecisionLog } from './decision-log.js';
import { GroupDecisions } from './group-decisions.js';
import type { PairOptions } from './pairs/choose-pair.js';
import type { PairKnowledge } from './pairs/pair-knowledge.js';
import type { OpenEpoch } from './predict.js';
import type { Amendment, Reported } from './results/compare.js';
import type { Prediction } from './results/prediction.js';
import { type Result, ResultBooks } from './results/result-books.js';
import type { Stored } from './results/store-gauge.js';
import type { Recorded } from './results/worker-book.js';
import { RouterTally } from './router-tally.js';
import type { Decision, SeenTransfer } from './routing.js';
import { Settling } from './settling.js';
import { TrafficRecorder } from './traffic/traffic-recorder.js';
import { GroupTraffic } from './traffic/worker-traffic.js';

export interface GroupRouterOptions extends WorkerSelectorOptions {
  /** When workers are ejected. Default `DEFAULT_EJECTION_OPTIONS`. */
  readonly ejection?: EjectionOptions;
  /** How requests are split between two workers. Default `DEFAULT_PAIR_OPTIONS`. */
  readonly pairs?: PairOptions;
}

export interface GroupRouterModules extends WorkerSelectorModules, CandidateListModules {
  readonly clock: Clock;
  readonly log: DecisionLog;
  /** Takes what pages and terminals show. */
  readonly history: FleetHistory;
  /** A worker is ejected, or gets requests again. */
  onEjection(change: EjectionChange): void;
  onReleased(end: RouteEnd, route: ActiveRoute): void;
  /** What is known of the pairs of the group. Absent: nothing, and every pair may be used. */
  readonly pairs?: (() => PairKnowledge | undefined) | undefined;
  /** What became of the blocks between the two workers of a request. */
  onTransferred(seen: SeenTransfer, decision: Decision): void;
  /** The index must have heard of a request whose result it did not explain. */
  onSettled(route: ActiveRoute): void;
}

/**
 * The routing of one group over all its epochs. It is open while the gate is
 * and the index of its epoch is there; when it shuts, all that was active ends.
 */
export class GroupRouter {
  readonly tally: RouterTally;
  readonly recorder: TrafficRecorder;
  readonly books: ResultBooks;
  readonly traffic: GroupTraffic = new GroupTraffic();
  readonly ejections: Ejections;
  readonly list: CandidateList;
  /** Where requests go, while it is open. */
  readonly decisions: GroupDecisions;
  readonly #modules: GroupRouterModules;
  readonly #selector: WorkerSelector;
  readonly #listener: RouteListener;
  readonly #routes = new UnorderedSet<ActiveRoute>();
  readonly #settling: Settling;
  #open: OpenEpoch | undefined;

  constructor(name: string, options: GroupRouterOptions, modules: GroupRouterModules) {
    this.#modules = modules;
    this.recorder = new TrafficRecorder({ group: name, mode: options.mode }, modules);
    this.tally = new RouterTally((reason, tokens) => this.recorder.lost(reason, tokens));
    this.#selector = new WorkerSelector(options, modules);
    this.list = new CandidateList(modules);
    this.books = new ResultBooks(modules);
    this.ejections = new Ejections(options.ejection ?? DEFAULT_EJECTION_OPTIONS, {
      draw: () => modules.random.fraction(),
    });
    this.#settling = new Settling(modules);
    this.decisions = new GroupDecisions(
      { group: name, mode: options.mode, pairs: options.pairs },
      {
        selector: this.#selector,
        list: this.list,
        ejections: this.ejections,
        clock: modules.clock,
        log: modules.log,
        tally: this.tally,
        open: () => this.#open,
        pairs: () => modules.pairs?.(),
        begin: (prediction, reservation) => this.#begin(prediction, reservation),
      },
    );
    this.#listener = {
      onReleased: modules.onReleased,
      onAnswered: (route) => {
        const { decision, decidedMs } = route;
        const nowMs = modules.clock.monotonicMs();
        // What a client waits for ends with the first token of the decode worker.
        if (route.prediction.part !== 'prefill') this.recorder.answered(route, nowMs - decidedMs);
        const traffic = this.traffic.of(decision.target);
        if (traffic !== undefined) {
          traffic.firstTokens += 1;
          traffic.firstTokenMs += nowMs - decidedMs;
        }
        const change = this.ejections.answered(decision.target, nowMs);
        if (change !== undefined) modules.onEjection(change);
      },
      onFailed: (fault, route) => this.#failed(route.decision, fault, route),
      onComputed: (route) => {
        if (route.isFollowed) this.#settling.computed(route);
      },
      onSettled: modules.onSettled,
      onTransferred: (seen, { decision }) => modules.onTransferred(seen, decision),
      onEnded: (route) => {
        this.#routes.delete(route);
        if (route.decision.isTrial === true) this.ejections.tried(route.decision.target);
      },
    };
  }

  /** The index that is routed by; undefined while the group is shut. */
  get index(): AskedIndex | undefined {
    return this.#open?.index;
  }

  /** See `WorkerSelector`. */
  get untrackedBlocks(): number {
    return this.#selector.untrackedBlocks;
  }

  /** See `WorkerSelector`. */
  get candidatesLeftOut(): number {
    return this.#selector.candidatesLeftOut;
  }

  /** See `WorkerSelector`. */
  get inFlightBlocks(): number {
    return this.#open === undefined ? 0 : this.#selector.inFlightBlocks;
  }

  /** The worker id of a target; empty where none is known. */
  readonly workerIdOf = (target: string): string =>
    this.#open?.view.members.find((member) => member.target === target)?.workerId ?? '';

  /** Of the KV blocks of a worker; undefined where its report does not say. */
  bytesPerTokenOf(target: string): number | undefined {
    return this.list.candidates.find((one) => one.target === target)?.split?.bytesPerToken;
  }

  /** What is active on each rank. */
  loads(): readonly RankLoad[] {
    return this.#open === undefined ? [] : this.#selector.loads();
  }

  /** Routes by `index`, which is that of the epoch of `view`. True when who may be chosen has changed. */
  show(view: GroupView, index: AskedIndex): boolean {
    if (this.#open?.index !== index) {
      this.shut();
      this.#selector.begin(index, index.tokensPerBlock);
      this.books.begin(index.epoch);
    }
    this.#open = { view, index };
    if (!this.list.update(view.members)) return false;
    this.traffic.setWorkers(view.members.map(({ target }) => target));
    this.books.keepOnly(new Map(view.members.map(({ target, instanceId }) => [target, instanceId])));
    const { candidates } = this.list;
    this.#selector.setCandidates(candidates);
    this.#watch(view);
    const instances = new Map(candidates.map(({ target, instanceId }) => [target, instanceId]));
    for (const route of this.#routes.snapshot()) {
      const { target, instanceId } = route.decision;
      if (instances.get(target) !== instanceId) route.end();
    }
    return true;
  }

  /** Its workers are those of the list: of ejected ones it is known when they are another start, or have another address. */
  #watch({ members }: GroupView): void {
    const { clock, onEjection } = this.#modules;
    const candidates = new Set(this.list.candidates.map(({ target }) => target));
    const watched = members.filter(({ target }) => candidates.has(target));
    const changes = this.ejections.setMembers(
      watched.map(({ target, instanceId, serving }) => ({
        target,
        instanceId,
        address: serving?.httpUrls.join(' ') ?? '',
      })),
      clock.monotonicMs(),
    );
    for (const change of changes) onEjection(change);
  }

  /** A worker failed a request. */
  failed(target: string, instanceId: string, fault: WorkerFault): void {
    this.#failed({ target, instanceId }, fault);
  }

  #failed(
    { target, instanceId }: Pick<Decision, 'target' | 'instanceId'>,
    fault: WorkerFault,
    route?: ActiveRoute,
  ): void {
    const { clock, onEjection } = this.#modules;
    this.traffic.of(target)?.countFailure(fault.kind);
    this.recorder.failed(fault.kind, route);
    const change = this.ejections.failed(target, instanceId, fault, clock.monotonicMs());
    if (change !== undefined) onEjection(change);
  }

  /** Ends all that is active; nothing is routed until the next `show`. */
  shut(): void {
    if (this.#open === undefined) return;
    this.#open = undefined;
    for (const route of this.#routes.snapshot()) route.end();
    this.#settling.clear();
  }

  /** A request goes to the worker where it is reserved. */
  #begin(prediction: Prediction, reservation: Reservation): ActiveRoute {
    const decidedMs = this.#modules.clock.monotonicMs();
    const route = new ActiveRoute(prediction, reservation, decidedMs, this.#listener);
    const traffic = this.traffic.of(prediction.decision.target);
    if (traffic !== undefined) traffic.decisions += 1;
    // A request that two workers share was decided once; its end is the decode worker's.
    if (prediction.part !== 'prefill') this.recorder.decided(route, reservation.decided, this.#selector);
    this.#routes.add(route);
    if (reservation.flight !== undefined) route.due = this.#settling.sent(route);
    return route;
  }

  /** Takes what an engine reported of a request; undefined where that is of no epoch or engine that runs. */
  record(prediction: Prediction, reported: Reported, amendment?: Amendment): Result | undefined {
    const result = this.books.record(prediction, reported, amendment);
    if (result?.hasTurned === true || result?.trust !== undefined) {
      const { target, rank } = prediction.decision;
      this.#selector.trust(target, rank, result.trust);
    }
    if (result !== undefined) this.#modules.log.result(result);
    return result;
  }

  /** Takes what became of the blocks of a prompt that a rank computed. */
  recordStored({ decision }: Prediction, stored: Stored): Recorded | undefined {
    const recorded = this.books.recordStored(decision, stored);
    if (recorded?.hasTurned === true) this.#selector.trust(decision.target, decision.rank, recorded.trust);
    return recorded;
  }
}
