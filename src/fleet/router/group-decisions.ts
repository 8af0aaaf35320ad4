import type { Ejections } from '../../core/health/ejections.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { ActiveRoute } from './active-route.js';
import type { CandidateList } from './choice/candidate-list.js';
import { type Excluded, excludedFor } from './choice/excluded.js';
import type { Decided, Reservation } from './choice/reserved-request.js';
import type { RoutedPrompt, WorkerSelector, WorkerSelectorOptions } from './choice/worker-selector.js';
import type { DecisionLog } from './decision-log.js';
import type { GroupRequest, Selected } from './group-request.js';
import {
  choosePair,
  DEFAULT_PAIR_OPTIONS,
  type PairChoice,
  type PairModules,
  type PairOptions,
} from './pairs/choose-pair.js';
import { DecodeLinks } from './pairs/decode-links.js';
import type { PairKnowledge } from './pairs/pair-knowledge.js';
import { type AboutPart, type OpenEpoch, predict } from './predict.js';
import type { Prediction } from './results/prediction.js';
import type { RouterTally } from './router-tally.js';
import { type Decision, type PairDecision, type Pairing, RoutingError } from './routing.js';

export interface GroupDecisionsOptions extends Pick<WorkerSelectorOptions, 'mode'> {
  /** The group, as messages and decisions name it. */
  readonly group: string;
  /** How requests are split between two workers. Default `DEFAULT_PAIR_OPTIONS`. */
  readonly pairs?: PairOptions | undefined;
}

export interface GroupDecisionsModules {
  readonly selector: WorkerSelector;
  readonly list: CandidateList;
  readonly ejections: Ejections;
  readonly clock: Clock;
  readonly log: DecisionLog;
  readonly tally: RouterTally;
  /** The epoch that is routed in; undefined while the group is shut. */
  open(): OpenEpoch | undefined;
  /** What is known of the pairs of the group. Undefined: nothing, and every pair may be used. */
  pairs(): PairKnowledge | undefined;
  /** A request goes to the worker where it is reserved. */
  begin(prediction: Prediction, reservation: Reservation): ActiveRoute;
}

/** Where the requests of one group go: to one worker, or to a pair. Each call throws a `RoutingError` where none can take it. */
export class GroupDecisions {
  readonly #options: GroupDecisionsOptions;
  readonly #modules: GroupDecisionsModules;
  readonly #links = new DecodeLinks();

  constructor(options: GroupDecisionsOptions, modules: GroupDecisionsModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Chooses, and says what each candidate would cost. */
  select(request: GroupRequest): Selected {
    const open = this.#ready();
    const { excluded, lacking, barred } = this.#excludedFor(request);
    const prompt = this.#promptOf(open, request);
    const costs = this.#modules.selector.explain(prompt, excluded);
    const { sessionHash } = request;
    const decided = this.#modules.selector.decide(prompt, excluded, { lacking, barred, sessionHash });
    if (this.#modules.log.detail === 'candidates') this.#modules.log.candidates(costs);
    return { decision: this.#predict(open, request, decided).decision, costs };
  }

  /** Chooses one worker or two, and counts nothing. */
  selectPair(request: GroupRequest): Decision {
    const open = this.#ready();
    const { pairing } = request;
    if (!this.#modules.list.hasPairs || pairing === undefined) return this.select(request).decision;
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
   * client.
   */
  reserve(request: GroupRequest): ActiveRoute {
    const { pairing } = request;
    const open = this.#ready();
    if (!this.#modules.list.hasPairs || pairing === undefined) return this.#reserveOne(open, request);
    const { chosen, prompt } = this.#choosePair(open, request, pairing);
    if (chosen.type === 'whole') {
      const { choice, unsplit } = chosen;
      return this.#begin(open, request, this.#modules.selector.count(choice, prompt), { unsplit });
    }
    // Both before anything else looks: what was found of the prompt is good for one moment.
    const reservations = [
      this.#modules.selector.count(chosen.prefill, prompt),
      this.#modules.selector.count(chosen.decode, prompt, true),
    ] as const;
    const prefill = this.#begin(open, request, reservations[0], { part: 'prefill' });
    const pair = this.#pairDecision(chosen, prefill.decision);
    const decode = this.#begin(open, request, reservations[1], { part: 'decode', pair });
    decode.prefill = prefill;
    return decode;
  }

  /** Chooses, and counts the request as active there. */
  #reserveOne(open: OpenEpoch, request: GroupRequest): ActiveRoute {
    const { log } = this.#modules;
    const { excluded, lacking, barred } = this.#excludedFor(request);
    const prompt = this.#promptOf(open, request);
    if (log.detail === 'candidates') log.candidates(this.#modules.selector.explain(prompt, excluded));
    const reservation = this.#modules.selector.reserve(prompt, excluded, {
      lacking,
      barred,
      sessionHash: request.sessionHash,
      fallbacks: request.fallbacks,
    });
    return this.#begin(open, request, reservation, {});
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
    if (chosen === undefined) throw this.#modules.selector.noWorker(excluded);
    return { chosen, prompt };
  }

  #pairModules(): PairModules {
    return {
      selector: this.#modules.selector,
      pairs: this.#modules.pairs(),
      links: this.#links,
      options: this.#options.pairs ?? DEFAULT_PAIR_OPTIONS,
    };
  }

  #pairDecision(chosen: Extract<PairChoice, { type: 'pair' }>, prefill: Decision): PairDecision {
    const { protocol, bootstrapAddress, expectedTransferMs, transferredTokens } = chosen;
    const { target } = chosen.decode.decided.candidate;
    const pairClass = this.#modules.pairs()?.classOf(prefill.target, target) ?? 'unknown';
    return { prefill, protocol, bootstrapAddress, pairClass, expectedTransferMs, transferredTokens };
  }

  /** What was reserved on one worker becomes a request on its way. */
  #begin(open: OpenEpoch, request: GroupRequest, reservation: Reservation, about: AboutPart): ActiveRoute {
    const { ejections, begin } = this.#modules;
    const isTrial = ejections.hasAny && ejections.chosen(reservation.decided.candidate.target);
    return begin(this.#predict(open, request, reservation.decided, { ...about, isTrial }), reservation);
  }

  #ready(): OpenEpoch {
    const { list } = this.#modules;
    const { group } = this.#options;
    const open = this.#modules.open();
    if (open === undefined) throw new RoutingError('gate_shut', `the gate of "${group}" is shut`);
    if (list.candidates.length > 0) return open;
    const { reasons } = open.view;
    const left = list.leftOut.size;
    const why =
      left > 0
        ? `all ${left} that the agreement offers are left out; the log says why`
        : reasons.map(({ text }) => text).join('; ');
    throw new RoutingError('no_worker', `no worker of "${group}" can be given a request: ${why}`, reasons);
  }

  #excludedFor(request: GroupRequest): Excluded {
    return excludedFor(request, this.#modules, this.#modules.clock);
  }

  /** The prompt as the router takes it: where cost does not count nothing is hashed. */
  #promptOf({ index }: OpenEpoch, { hash, cacheUse }: GroupRequest): RoutedPrompt | undefined {
    if (this.#options.mode !== 'kv' || hash === undefined) return undefined;
    const prompt = hash(index);
    return cacheUse === 'unread' ? { ...prompt, isUnread: true } : prompt;
  }

  #predict(open: OpenEpoch, request: GroupRequest, decided: Decided, about: AboutPart = {}): Prediction {
    const { tally, log } = this.#modules;
    const prediction = predict(this.#options.group, open, request, decided, about);
    // Of two workers one is counted and written, when both are known.
    if (about.part !== 'prefill') {
      const { decision } = prediction;
      tally.countDecision(decision.routingMode);
      tally.pairs.countDecision(decision);
      log.chosen(prediction, decided.cost, this.#options.mode);
    }
    return prediction;
  }
}
