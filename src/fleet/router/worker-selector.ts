import { nameSome } from '../../core/text/lists.js';
import { workerName } from '../../core/text/worker-name.js';
import type { Random } from '../../edge/platform/random.js';
import type { AskedIndex } from '../indexer/asked-index.js';
import { ActiveBlocks, type ActiveRequest } from './active-blocks.js';
import type { Candidate, CandidateCost } from './candidates.js';
import { draw, weighCheapest, weighEvenly, weighSoftly } from './choose.js';
import type { CostWeights } from './cost.js';
import { Evictions, Flight } from './flight.js';
import { type KnownRank, RankTable } from './rank-table.js';
import type { LostReason } from './results/lost-hits.js';
import { type RouterMode, RoutingError } from './routing.js';
import { preference } from './session-affinity.js';
import { blocksOf, type RoutedPrompt, Survey, type SurveyedEpoch } from './survey.js';

/** How a group's requests are spread. */
export interface WorkerSelectorOptions {
  readonly mode: RouterMode;
  readonly weights: CostWeights;
  /** 0: always the cheapest; above: the higher, the more often another one. */
  readonly temperature: number;
  /** Prompts on their way count as cached where they go, until events confirm them. Default true. */
  readonly predictsOnRoute?: boolean;
}

export interface WorkerSelectorModules {
  readonly random: Pick<Random, 'fraction'>;
}

export type { RoutedPrompt } from './survey.js';

/** What a choice goes by beside the prompt. */
export interface AboutRequest {
  /** Targets of those excluded that do not have its LoRA adapter. */
  readonly lacking?: readonly string[];
  /** Targets of those excluded that are ejected. */
  readonly barred?: readonly string[];
  /** See `RouteRequest`. */
  readonly sessionHash?: number | undefined;
}

const NOTHING_KNOWN: AboutRequest = {};

/** Who was chosen, and what that costs. */
export interface Decided {
  readonly candidate: Candidate;
  readonly cost: CandidateCost;
  /** Undefined when the tokens are not known. */
  readonly promptTokens: number | undefined;
  /** Blocks of the prompt, a last partial one counted; 0 when the tokens are not known. */
  readonly promptBlocks: number;
  /** Leading blocks that the rank holds in any tier. */
  readonly cachedBlocks: number;
  /** Leading blocks that the best of all workers held. */
  readonly bestBlocks: number;
  /** Why that one was not chosen; undefined where it was. */
  readonly lostReason: LostReason | undefined;
  /** Leading blocks that are active there already. */
  readonly sharedBlocks: number;
  /** Leading blocks of prompts on their way there, which are expected to be cached. */
  readonly flyingBlocks: number;
  /** Its results contradict its view: only a part of what that promises went into the cost. */
  readonly isDoubted: boolean;
}

/** A request that counts as active on its rank; all calls are harmless once it has ended. */
export interface Reservation {
  readonly decided: Decided;
  /** The first token has come. */
  prefillDone(): void;
  /** All tokens that were generated so far; less than before is not believed. */
  progress(outputTokens: number): void;
  release(): void;
  /** Its prompt, expected where it goes; undefined where its tokens are not known, or nothing is followed there. */
  readonly flight: Flight | undefined;
  /** Leading blocks of its prompt that ranks hold in any tier now; undefined where that cannot be known any more. */
  find(): Found | undefined;
}

/** Who holds how many leading blocks of a prompt. */
export interface Found {
  /** The rank that it went to. */
  readonly here: number;
  /** The best of the others. */
  readonly elsewhere: number;
}

/** What is active on one rank. */
export interface RankLoad {
  readonly candidate: Candidate;
  readonly activeBlocks: number;
  readonly activeRequests: number;
  /** Prompt tokens that are being computed: of requests whose first token has not come, what was not cached. */
  readonly prefillingTokens: number;
}

/** What lasts as long as an epoch. */
interface Epoch extends SurveyedEpoch {
  readonly number: number;
}

/**
 * Chooses among the ranks of one group, and knows what is active on each of
 * them. A decision allocates nothing for a block of the prompt, and nothing
 * for a candidate that is not chosen.
 */
export class WorkerSelector {
  readonly #options: WorkerSelectorOptions;
  readonly #random: Pick<Random, 'fraction'>;
  readonly #ranks = new RankTable();
  readonly #survey: Survey;
  readonly #evictions = new Evictions();
  #epoch: Epoch | undefined;
  #decisions = 0;
  /** Places of those that are not excluded; the lists below are in the same order. */
  #left = new Uint32Array(0);
  #leftCount = 0;
  #costs = new Float64Array(0);
  #seconds = new Float64Array(0);
  #weights = new Float64Array(0);
  /** Of the weights. */
  #sum = 0;

  constructor(options: WorkerSelectorOptions, modules: WorkerSelectorModules) {
    this.#options = options;
    this.#random = modules.random;
    this.#survey = new Survey(this.#ranks, options.weights);
  }

  /** 0 while none has begun. */
  get epoch(): number {
    return this.#epoch?.number ?? 0;
  }

  /** 0 while no epoch has begun. */
  get tokensPerBlock(): number {
    return this.#epoch?.tokensPerBlock ?? 0;
  }

  /** (block, rank) pairs of active requests of which it is known which they are. */
  get trackedBlocks(): number {
    return this.#epoch?.active.trackedBlocks ?? 0;
  }

  /** Prompt blocks, ever in this epoch, that counted by their number alone, because too many were active to know each. */
  get untrackedBlocks(): number {
    return this.#epoch?.active.untrackedBlocks ?? 0;
  }

  /** Candidates that are not considered because there are more than 65,535. */
  get candidatesLeftOut(): number {
    return this.#ranks.leftOut;
  }

  /** A new epoch: whatever was active ends. The candidates stay. Without an index no rank is known to hold anything. */
  begin(index: AskedIndex | undefined, epoch: number, tokensPerBlock: number): void {
    this.#epoch?.active.close();
    this.#epoch?.inFlight.close();
    this.#epoch?.index?.watchRemovals?.(undefined);
    const active = new ActiveBlocks(tokensPerBlock);
    const inFlight = new ActiveBlocks(tokensPerBlock);
    this.#evictions.clear();
    this.#epoch = { number: epoch, tokensPerBlock, index, active, inFlight };
    this.#ranks.begin(active, inFlight);
    index?.watchRemovals?.((target, rank, hashes) => this.#onRemoved(target, rank, hashes));
  }

  /** Blocks of prompts on their way, by rank, that are expected where they go. */
  get inFlightBlocks(): number {
    return this.#epoch?.inFlight.trackedBlocks ?? 0;
  }

  /** Notes which blocks of prompts on their way are evicted: those that wait there find less than was predicted. */
  #onRemoved(target: string, number: number, hashes: Uint8Array | undefined): void {
    const inFlight = this.#epoch?.inFlight;
    if (inFlight === undefined || inFlight.trackedBlocks === 0) return;
    const rank = this.#ranks.find(target, number)?.inFlight;
    if (rank === undefined || inFlight.requestsOn(rank) === 0) return;
    if (hashes === undefined) {
      this.#evictions.addAll(rank);
      return;
    }
    const view = new DataView(hashes.buffer, hashes.byteOffset, hashes.length);
    for (let at = 0; at + HASH_BYTES <= hashes.length; at += HASH_BYTES)
      if (inFlight.has(rank, view.getUint32(at, true), view.getUint32(at + 4, true)))
        this.#evictions.add(rank, view.getBigUint64(at, true));
  }

  /** Those that may be chosen. What is active on others, or on another instance of the same rank, ends. */
  setCandidates(candidates: readonly Candidate[]): void {
    this.#ranks.set(candidates);
  }

  /** What its results support of the view of a rank, 0 to 1; undefined: all of it. */
  trust(target: string, rank: number, trust: number | undefined): void {
    this.#ranks.trust(target, rank, trust);
  }

  /** Chooses. Throws `RoutingError('no_worker')`. `excluded` are targets. */
  decide(
    prompt: RoutedPrompt | undefined,
    excluded: readonly string[],
    about: AboutRequest = NOTHING_KNOWN,
  ): Decided {
    return this.#decided(this.#choose(prompt, excluded, about.sessionHash), prompt, about);
  }

  /**
   * Chooses, and counts the request as active there; an index that learns from
   * decisions learns it. Throws `RoutingError('no_worker')`.
   */
  reserve(
    prompt: RoutedPrompt | undefined,
    excluded: readonly string[],
    about: AboutRequest = NOTHING_KNOWN,
  ): Reservation {
    const at = this.#choose(prompt, excluded, about.sessionHash);
    const decided = this.#decided(at, prompt, about);
    const epoch = this.#epoch as Epoch;
    const { index, active, tokensPerBlock } = epoch;
    const place = this.#left[at] as number;
    const rank = this.#ranks.at(place);
    if (prompt === undefined)
      return new Reserved(decided, active.add(rank.active, undefined), undefined, NOTHING_FOUND);
    const { sequenceHashes, tokenCount } = prompt;
    const request = active.add(rank.active, {
      sequenceHashes,
      tokenCount,
      sharedBlocks: this.#survey.sharedBlocks(place),
      prefillTokens: Math.round(decided.cost.potentialPrefillBlocks * tokensPerBlock),
    });
    const { target, rank: number, offer } = rank.candidate;
    const isFollowed =
      offer === 'full' && index !== undefined && !index.record(target, number, sequenceHashes);
    if (!isFollowed) return new Reserved(decided, request, undefined, NOTHING_FOUND);
    const flight = this.#fly(prompt, decided, rank, epoch);
    return new Reserved(decided, request, flight, () => {
      // Another rank may have its place, and another epoch's blocks are others.
      if (this.#epoch !== epoch) return undefined;
      const now = this.#ranks.all.indexOf(rank);
      return now === -1 ? undefined : this.#survey.find(flight.prompt, now, epoch);
    });
  }

  #fly(prompt: RoutedPrompt, { flyingBlocks }: Decided, { inFlight: rank }: KnownRank, epoch: Epoch): Flight {
    const { inFlight } = epoch;
    const { predictsOnRoute = true } = this.#options;
    const { sequenceHashes, tokenCount } = prompt;
    const hold = inFlight.add(
      rank,
      predictsOnRoute
        ? { sequenceHashes, tokenCount, sharedBlocks: flyingBlocks, prefillTokens: 0 }
        : undefined,
    );
    return new Flight({ prompt, rank }, { inFlight, evictions: this.#evictions, hold });
  }

  /** What each candidate would cost, and how likely it is to be chosen; the cheapest first. Draws nothing. */
  explain(prompt: RoutedPrompt | undefined, excluded: readonly string[]): CandidateCost[] {
    this.#look(prompt, excluded);
    const costs = Array.from({ length: this.#leftCount }, (_, at) => this.#costOf(at));
    return costs.sort((a, b) => a.logit - b.logit || b.probability - a.probability);
  }

  /** What is active on each candidate. */
  loads(): RankLoad[] {
    const active = this.#epoch?.active;
    return this.#ranks.all.map(({ candidate, active: rank }) => ({
      candidate,
      activeBlocks: active?.blocksOn(rank) ?? 0,
      activeRequests: active?.requestsOn(rank) ?? 0,
      prefillingTokens: active?.prefillingTokensOn(rank) ?? 0,
    }));
  }

  /** Looks at all, draws one, and takes note of its turn; its place among those that are left. */
  #choose(
    prompt: RoutedPrompt | undefined,
    excluded: readonly string[],
    sessionHash: number | undefined,
  ): number {
    this.#look(prompt, excluded);
    if (this.#leftCount === 0) throw new RoutingError('no_worker', this.#whyNoWorker(excluded));
    const at =
      sessionHash === undefined || !this.#hasTies()
        ? draw(this.#weights, this.#leftCount, this.#sum, this.#random.fraction())
        : this.#ofSession(sessionHash);
    this.#decisions += 1;
    this.#ranks.at(this.#left[at] as number).lastTurn = this.#decisions;
    return at;
  }

  /** Whether equal weights mean that all with a weight are equally good: elsewhere chance, or the turn, is what is asked for. */
  #hasTies(): boolean {
    const { mode, temperature } = this.#options;
    return (mode === 'kv' && temperature === 0) || mode === 'least-loaded';
  }

  /** Of those that are equally good the one that the session prefers. */
  #ofSession(sessionHash: number): number {
    let chosen = 0;
    let most = -1;
    for (let at = 0; at < this.#leftCount; at += 1) {
      if (this.#weights[at] === 0) continue;
      const much = preference(sessionHash, this.#ranks.at(this.#left[at] as number).hash);
      if (much <= most) continue;
      most = much;
      chosen = at;
    }
    return chosen;
  }

  /** What the request would cost on each candidate that is left, and how likely each is. */
  #look(prompt: RoutedPrompt | undefined, excluded: readonly string[]): void {
    this.#leftCount = 0;
    this.#sum = 0;
    if (this.#epoch === undefined) return;
    this.#survey.take(prompt, this.#epoch);
    this.#reserve(this.#ranks.all.length);
    const isExcluded = excluding(excluded);
    const { length } = this.#ranks.all;
    for (let place = 0; place < length; place += 1) {
      if (isExcluded?.(this.#ranks.at(place).candidate.target)) continue;
      this.#left[this.#leftCount] = place;
      this.#leftCount += 1;
    }
    this.#sum = this.#weigh(this.#epoch.active, prompt !== undefined);
  }

  #weigh(active: ActiveBlocks, isPromptKnown: boolean): number {
    const { mode, temperature } = this.#options;
    const count = this.#leftCount;
    const costs = this.#costs;
    const weights = this.#weights;
    switch (mode) {
      case 'kv':
        for (let at = 0; at < count; at += 1)
          costs[at] = this.#survey.logits[this.#left[at] as number] as number;
        if (temperature > 0) return weighSoftly(costs, count, temperature, weights);
        if (isPromptKnown) return weighCheapest(costs, count, weights);
        // Requests whose tokens are unknown have no blocks before they generate some.
        this.#countRequests(active, this.#seconds);
        return weighCheapest(costs, count, weights, this.#seconds);
      case 'least-loaded':
        this.#countRequests(active, costs);
        return weighCheapest(costs, count, weights);
      case 'round-robin':
        return this.#weighNext(weights);
      case 'random':
        return weighEvenly(count, weights);
    }
  }

  #countRequests(active: ActiveBlocks, counts: Float64Array): void {
    for (let at = 0; at < this.#leftCount; at += 1)
      counts[at] = active.requestsOn(this.#ranks.at(this.#left[at] as number).active);
  }

  /** Counts only the rank that was not chosen for the longest time: the turn goes on whichever workers come and go. */
  #weighNext(weights: Float64Array): number {
    let next = 0;
    let earliest = Number.POSITIVE_INFINITY;
    for (let at = 0; at < this.#leftCount; at += 1) {
      weights[at] = 0;
      const { lastTurn } = this.#ranks.at(this.#left[at] as number);
      if (lastTurn >= earliest) continue;
      earliest = lastTurn;
      next = at;
    }
    weights[next] = 1;
    return 1;
  }

  /** What the best of all workers held, and why it was not chosen. */
  #lost(at: number, about: AboutRequest): Pick<Decided, 'bestBlocks' | 'lostReason'> {
    const survey = this.#survey;
    const chosen = this.#left[at] as number;
    let best = chosen;
    for (let place = 0; place < this.#ranks.all.length; place += 1)
      if (survey.heldBlocks(place) > survey.heldBlocks(best)) best = place;
    const bestBlocks = Math.max(survey.heldBlocks(best), survey.outsideBlocks);
    if (survey.heldBlocks(chosen) >= bestBlocks) return { bestBlocks, lostReason: undefined };
    if (survey.outsideBlocks > survey.heldBlocks(best)) return { bestBlocks, lostReason: 'draining' };
    return { bestBlocks, lostReason: this.#whyNot(best, chosen, about) };
  }

  #whyNot(best: number, chosen: number, { lacking, barred }: AboutRequest): LostReason {
    const { candidate, trust } = this.#ranks.at(best);
    if (lacking?.includes(candidate.target)) return 'lora';
    if (barred?.includes(candidate.target)) return 'ejected';
    const { logits } = this.#survey;
    let least = Number.POSITIVE_INFINITY;
    let isLeft = false;
    for (let at = 0; at < this.#leftCount; at += 1) {
      const place = this.#left[at] as number;
      least = Math.min(least, logits[place] as number);
      isLeft ||= place === best;
    }
    if (!isLeft) return 'retried';
    if (trust !== undefined) return 'doubted';
    return (logits[chosen] as number) > least ? 'temperature' : 'load';
  }

  #decided(at: number, prompt: RoutedPrompt | undefined, about: AboutRequest): Decided {
    const cost = this.#costOf(at);
    const place = this.#left[at] as number;
    return {
      candidate: cost.candidate,
      cost,
      promptTokens: prompt?.tokenCount,
      promptBlocks: prompt === undefined ? 0 : blocksOf(prompt, this.tokensPerBlock),
      cachedBlocks: cost.cachedBlocks.at(-1) ?? 0,
      ...this.#lost(at, about),
      sharedBlocks: this.#survey.sharedBlocks(place),
      flyingBlocks: this.#survey.flyingBlocks(place),
      isDoubted: this.#ranks.at(place).trust !== undefined,
    };
  }

  #costOf(at: number): CandidateCost {
    const place = this.#left[at] as number;
    const survey = this.#survey;
    return {
      candidate: this.#ranks.at(place).candidate,
      logit: survey.logits[place] as number,
      overlapScoreWeight: this.#options.weights.overlapScoreWeight,
      potentialPrefillBlocks: survey.prefillBlocks(place),
      potentialActiveBlocks: survey.activeBlocks(place),
      cachedBlocks: survey.cachedBlocks(place),
      probability: (this.#weights[at] as number) / this.#sum,
    };
  }

  #whyNoWorker(excluded: readonly string[]): string {
    const { length } = this.#ranks.all;
    if (this.#epoch === undefined) return 'no worker can be given a request: no epoch has begun';
    if (length === 0) return 'no worker can be given a request: none is offered';
    const names = new Map(this.#ranks.all.map(({ candidate }) => [candidate.target, workerName(candidate)]));
    return `no worker can be given a request: all ${length} ranks that are offered are excluded, or were tried before (${nameSome(excluded.map((target) => names.get(target) ?? target))})`;
  }

  #reserve(count: number): void {
    if (this.#left.length >= count) return;
    const room = Math.ceil(1.5 * count);
    this.#left = new Uint32Array(room);
    this.#costs = new Float64Array(room);
    this.#seconds = new Float64Array(room);
    this.#weights = new Float64Array(room);
  }
}

const HASH_BYTES = 8;

const NOTHING_FOUND = (): undefined => undefined;

/** Targets up to which they are looked through one by one. */
const FEW_TARGETS = 8;

/** Whether a target is one of those; undefined where there are none. */
function excluding(targets: readonly string[]): ((target: string) => boolean) | undefined {
  if (targets.length === 0) return undefined;
  if (targets.length <= FEW_TARGETS) return (target) => targets.includes(target);
  const all = new Set(targets);
  return (target) => all.has(target);
}

class Reserved implements Reservation {
  readonly decided: Decided;
  readonly flight: Flight | undefined;
  readonly find: () => Found | undefined;
  readonly #request: ActiveRequest;

  constructor(
    decided: Decided,
    request: ActiveRequest,
    flight: Flight | undefined,
    find: () => Found | undefined,
  ) {
    this.decided = decided;
    this.#request = request;
    this.flight = flight;
    this.find = find;
  }

  prefillDone(): void {
    this.#request.prefillDone();
  }

  progress(outputTokens: number): void {
    this.#request.progress(outputTokens);
  }

  release(): void {
    this.#request.release();
  }
}
