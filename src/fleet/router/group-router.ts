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
import type { HashContract } from '../indexer/prompt-hashes.js';
import { ActiveRoute, type RouteEnd, type RouteListener } from './active-route.js';
import { CandidateList, type CandidateListModules } from './choice/candidate-list.js';
import type { CandidateCost } from './choice/candidates.js';
import { type Excluded, excludedFor } from './choice/excluded.js';
import type { Decided, Reservation } from './choice/reserved-request.js';
import {
  type RankLoad,
  type RoutedPrompt,
  WorkerSelector,
  type WorkerSelectorModules,
  type WorkerSelectorOptions,
} from './choice/worker-selector.js';
import type { DecisionLog } from './decision-log.js';
import {
  choosePair,
  DEFAULT_PAIR_OPTIONS,
  type PairChoice,
  type PairModules,
  type PairOptions,
} from './pairs/choose-pair.js';
import { DecodeLinks } from './pairs/decode-links.js';
import type { PairKnowledge } from './pairs/pair-knowledge.js';
import { type AboutPart, type AboutPrompt, type OpenEpoch, predict } from './predict.js';
import type { Amendment, Reported } from './results/compare.js';
import type { Prediction } from './results/prediction.js';
import { type Result, ResultBooks } from './results/result-books.js';
import type { Stored } from './results/store-gauge.js';
import type { Recorded } from './results/worker-book.js';
import { RouterTally } from './router-tally.js';
import {
  type Decision,
  type PairDecision,
  type Pairing,
  RoutingError,
  type SeenTransfer,
} from './routing.js';
import { Settling } from './settling.js';
import { TrafficRecorder } from './traffic/traffic-recorder.js';
import { GroupTraffic } from './traffic/worker-traffic.js';

/** What is asked of one group. */
export interface GroupRequest extends AboutPrompt {
  /** The prompt in the epoch's blocks; undefined when its tokens are not known. */
  readonly hash: ((contract: HashContract) => RoutedPrompt) | undefined;
  /** The LoRA adapter that it is for; empty for none. */
  readonly loraName: string;
  /** See `RouteRequest`. */
  readonly sessionHash?: number | undefined;
  /** Targets that must not be chosen. */
  readonly excluded: readonly string[];
  /** See `RouteRequest`. */
  readonly fallbacks?: number | undefined;
  /** See `RouteRequest`. */
  readonly pairing?: Pairing | undefined;
}

/** Who was chosen, and what each candidate would cost, the cheapest first. */
export interface Selected {
  readonly decision: Decision;
  readonly costs: readonly CandidateCost[];
}

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
  readonly #name: string;
  readonly #options: GroupRouterOptions;
  readonly #modules: GroupRouterModules;
  readonly #router: WorkerSelector;
  readonly #listener: RouteListener;
  readonly #routes = new UnorderedSet<ActiveRoute>();
  readonly #settling: Settling;
  readonly #links = new DecodeLinks();
  #open: OpenEpoch | undefined;

  constructor(name: string, options: GroupRouterOptions, modules: GroupRouterModules) {
    this.#name = name;
    this.#options = options;
    this.#modules = modules;
    this.recorder = new TrafficRecorder({ group: name, mode: options.mode }, modules);
    this.tally = new RouterTally((reason, tokens) => this.recorder.lost(reason, tokens));
    this.#router = new WorkerSelector(options, modules);
    this.list = new CandidateList(modules);
    this.books = new ResultBooks(modules);
    this.ejections = new Ejections(options.ejection ?? DEFAULT_EJECTION_OPTIONS, {
      draw: () => modules.random.fraction(),
    });
    this.#settling = new Settling(modules);
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
    return this.#router.untrackedBlocks;
  }

  /** See `WorkerSelector`. */
  get candidatesLeftOut(): number {
    return this.#router.candidatesLeftOut;
  }

  /** See `WorkerSelector`. */
  get inFlightBlocks(): number {
    return this.#open === undefined ? 0 : this.#router.inFlightBlocks;
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
    return this.#open === undefined ? [] : this.#router.loads();
  }

  /** Routes by `index`, which is that of the epoch of `view`. True when who may be chosen has changed. */
  show(view: GroupView, index: AskedIndex): boolean {
    if (this.#open?.index !== index) {
      this.shut();
      this.#router.begin(index, index.tokensPerBlock);
      this.books.begin(index.epoch);
    }
    this.#open = { view, index };
    if (!this.list.update(view.members)) return false;
    this.traffic.setWorkers(view.members.map(({ target }) => target));
    this.books.keepOnly(new Map(view.members.map(({ target, instanceId }) => [target, instanceId])));
    const { candidates } = this.list;
    this.#router.setCandidates(candidates);
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

  /** Chooses, and says what each candidate would cost. Throws a `RoutingError`. */
  select(request: GroupRequest): Selected {
    const open = this.#ready();
    const { excluded, lacking, barred } = this.#excludedFor(request);
    const prompt = this.#promptOf(open, request);
    const costs = this.#router.explain(prompt, excluded);
    const { sessionHash } = request;
    const decided = this.#router.decide(prompt, excluded, { lacking, barred, sessionHash });
    if (this.#modules.log.detail === 'candidates') this.#modules.log.candidates(costs);
    return { decision: this.#predict(open, request, decided).decision, costs };
  }

  /** Chooses one worker or two, and counts nothing. Throws a `RoutingError`. */
  selectPair(request: GroupRequest): Decision {
    const open = this.#ready();
    const { pairing } = request;
    if (!this.list.hasPairs || pairing === undefined) return this.select(request).decision;
    const { chosen } = this.#choosePair(open, request, pairing);
    if (chosen.type === 'whole')
      return this.#predict(open, request, chosen.choice.decided, { unsplit: chosen.unsplit }).decision;
    const prefill = this.#predict(open, request, chosen.prefill.decided, { part: 'prefill' }).decision;
    return this.#predict(open, request, chosen.decode.decided, {
      part: 'decode',
      pair: this.#pairDecision(chosen, prefill),
    }).decision;
  }

  /**
   * Chooses one worker or two, and counts the request on each: what comes back is the part of the worker that answers the
   * client. Throws a `RoutingError`.
   */
  reservePair(request: GroupRequest): ActiveRoute {
    const { pairing } = request;
    const open = this.#ready();
    if (!this.list.hasPairs || pairing === undefined) return this.reserve(request);
    const { chosen, prompt } = this.#choosePair(open, request, pairing);
    if (chosen.type === 'whole') {
      const { choice, unsplit } = chosen;
      return this.#begin(open, request, this.#router.count(choice, prompt), { unsplit });
    }
    // Both before anything else looks: what was found of the prompt is good for one moment.
    const reservations = [
      this.#router.count(chosen.prefill, prompt),
      this.#router.count(chosen.decode, prompt, true),
    ] as const;
    const prefill = this.#begin(open, request, reservations[0], { part: 'prefill' });
    const pair = this.#pairDecision(chosen, prefill.decision);
    const decode = this.#begin(open, request, reservations[1], { part: 'decode', pair });
    decode.prefill = prefill;
    return decode;
  }

  #choosePair(
    open: OpenEpoch,
    request: GroupRequest,
    pairing: Pairing,
  ): { readonly chosen: PairChoice; readonly prompt: RoutedPrompt | undefined } {
    const { excluded, lacking, barred } = this.#excludedFor(request);
    const { tokenCount, sessionHash, fallbacks } = request;
    const prompt = this.#promptOf(open, request);
    const about = { lacking, barred, sessionHash, fallbacks };
    const chosen = choosePair({ prompt, tokenCount, excluded, about, pairing }, this.#pairModules());
    if (chosen === undefined) throw this.#router.noWorker(excluded);
    return { chosen, prompt };
  }

  #pairModules(): PairModules {
    return {
      selector: this.#router,
      pairs: this.#pairs,
      links: this.#links,
      options: this.#options.pairs ?? DEFAULT_PAIR_OPTIONS,
    };
  }

  get #pairs(): PairKnowledge | undefined {
    return this.#modules.pairs?.();
  }

  #pairDecision(chosen: Extract<PairChoice, { type: 'pair' }>, prefill: Decision): PairDecision {
    const { protocol, bootstrapAddress, expectedTransferMs, transferredTokens } = chosen;
    const { target } = chosen.decode.decided.candidate;
    const pairClass = this.#pairs?.classOf(prefill.target, target) ?? 'unknown';
    return { prefill, protocol, bootstrapAddress, pairClass, expectedTransferMs, transferredTokens };
  }

  /** Chooses, and counts the request as active there. Throws a `RoutingError`. */
  reserve(request: GroupRequest): ActiveRoute {
    const open = this.#ready();
    const { log } = this.#modules;
    const { excluded, lacking, barred } = this.#excludedFor(request);
    const prompt = this.#promptOf(open, request);
    if (log.detail === 'candidates') log.candidates(this.#router.explain(prompt, excluded));
    const reservation = this.#router.reserve(prompt, excluded, {
      lacking,
      barred,
      sessionHash: request.sessionHash,
      fallbacks: request.fallbacks,
    });
    return this.#begin(open, request, reservation, {});
  }

  /** What was reserved on one worker becomes a request on its way. */
  #begin(open: OpenEpoch, request: GroupRequest, reservation: Reservation, about: AboutPart): ActiveRoute {
    const { target } = reservation.decided.candidate;
    const isTrial = this.ejections.hasAny && this.ejections.chosen(target);
    const prediction = this.#predict(open, request, reservation.decided, { ...about, isTrial });
    const decidedMs = this.#modules.clock.monotonicMs();
    const route = new ActiveRoute(prediction, reservation, decidedMs, this.#listener);
    const traffic = this.traffic.of(target);
    if (traffic !== undefined) traffic.decisions += 1;
    // A request that two workers share was decided once; its end is the decode worker's.
    if (about.part !== 'prefill') this.recorder.decided(route, reservation.decided, this.#router);
    this.#routes.add(route);
    if (reservation.flight !== undefined) route.due = this.#settling.sent(route);
    return route;
  }

  /** Takes what an engine reported of a request; undefined where that is of no epoch or engine that runs. */
  record(prediction: Prediction, reported: Reported, amendment?: Amendment): Result | undefined {
    const result = this.books.record(prediction, reported, amendment);
    if (result?.hasTurned === true || result?.trust !== undefined) {
      const { target, rank } = prediction.decision;
      this.#router.trust(target, rank, result.trust);
    }
    if (result !== undefined) this.#modules.log.result(result);
    return result;
  }

  /** Takes what became of the blocks of a prompt that a rank computed. */
  recordStored({ decision }: Prediction, stored: Stored): Recorded | undefined {
    const recorded = this.books.recordStored(decision, stored);
    if (recorded?.hasTurned === true) this.#router.trust(decision.target, decision.rank, recorded.trust);
    return recorded;
  }

  #ready(): OpenEpoch {
    const open = this.#open;
    if (open === undefined) throw new RoutingError('gate_shut', `the gate of "${this.#name}" is shut`);
    if (this.list.candidates.length > 0) return open;
    const { reasons } = open.view;
    const left = this.list.leftOut.size;
    const why =
      left > 0
        ? `all ${left} that the agreement offers are left out; the log says why`
        : reasons.map(({ text }) => text).join('; ');
    throw new RoutingError(
      'no_worker',
      `no worker of "${this.#name}" can be given a request: ${why}`,
      reasons,
    );
  }

  #excludedFor(request: GroupRequest): Excluded {
    return excludedFor(request, this, this.#modules.clock);
  }

  /** The prompt as the router takes it: where cost does not count nothing is hashed. */
  #promptOf({ index }: OpenEpoch, { hash, cacheUse }: GroupRequest): RoutedPrompt | undefined {
    if (this.#options.mode !== 'kv' || hash === undefined) return undefined;
    const prompt = hash(index);
    return cacheUse === 'unread' ? { ...prompt, isUnread: true } : prompt;
  }

  #predict(open: OpenEpoch, request: GroupRequest, decided: Decided, about: AboutPart = {}): Prediction {
    const prediction = predict(this.#name, open, request, decided, about);
    // Of two workers one is counted and written, when both are known.
    if (about.part !== 'prefill') {
      const { decision } = prediction;
      this.tally.countDecision(decision.routingMode);
      this.tally.pairs.countDecision(decision);
      this.#modules.log.chosen(prediction, decided.cost, this.#options.mode);
    }
    return prediction;
  }
}
