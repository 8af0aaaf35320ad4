import { HASH_BYTES } from '../../../core/blocks/packed-hashes.js';
import type { Random } from '../../../edge/platform/random.js';
import type { AskedIndex } from '../../indexer/index/asked-index.js';
import { RoutingError } from '../routing.js';
import type { AboutRequest } from './about-request.js';
import { ActiveBlocks } from './active-blocks.js';
import { cheapestOf, costAt } from './candidate-costs.js';
import type { Candidate, CandidateCost } from './candidates.js';
import type { CostWeights } from './cost.js';
import { Evictions, Flight } from './flight.js';
import { noWorkerMessage } from './no-worker-message.js';
import { type KnownRank, RankTable } from './rank-table.js';
import { type Decided, type Reservation, Reserved } from './reserved-request.js';
import { blocksOf, type RoutedPrompt, Survey, type SurveyedEpoch } from './survey.js';
import { type ChoiceScope, WeighedRanks, type WeighedRanksOptions, WHOLE_REQUESTS } from './weighed-ranks.js';
import { type ChoiceTables, whatWasLost } from './what-was-lost.js';

/** How a group's requests are spread. */
export interface WorkerSelectorOptions extends WeighedRanksOptions {
  readonly weights: CostWeights;
  /** Prompts on their way count as cached where they go, until events confirm them. Default true. */
  readonly predictsOnRoute?: boolean;
}

export interface WorkerSelectorModules {
  readonly random: Pick<Random, 'fraction'>;
}

export type { AboutRequest } from './about-request.js';
export type { RoutedPrompt } from './survey.js';

const NOTHING_KNOWN: AboutRequest = {};

/** One rank that was chosen, by its place in the table. */
export interface Choice {
  readonly place: number;
  readonly decided: Decided;
}

/** What is active on one rank. */
export interface RankLoad {
  readonly candidate: Candidate;
  readonly activeBlocks: number;
  readonly activeRequests: number;
  /** Prompt tokens that are being computed: of requests whose first token has not come, what was not cached. */
  readonly prefillingTokens: number;
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
  readonly #weighed: WeighedRanks;
  readonly #tables: ChoiceTables;
  /** What lasts as long as an epoch; undefined while none has begun. */
  #epoch: SurveyedEpoch | undefined;
  #decisions = 0;

  constructor(options: WorkerSelectorOptions, modules: WorkerSelectorModules) {
    this.#options = options;
    this.#random = modules.random;
    this.#survey = new Survey(this.#ranks, options.weights);
    this.#weighed = new WeighedRanks(options, { ranks: this.#ranks, survey: this.#survey });
    this.#tables = { ranks: this.#ranks, survey: this.#survey, weighed: this.#weighed };
  }

  /** 0 while no epoch has begun. */
  get tokensPerBlock(): number {
    return this.#epoch?.tokensPerBlock ?? 0;
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
  begin(index: AskedIndex | undefined, tokensPerBlock: number): void {
    this.#epoch?.active.close();
    this.#epoch?.inFlight.close();
    this.#epoch?.index?.watchRemovals?.(undefined);
    const active = new ActiveBlocks(tokensPerBlock);
    const inFlight = new ActiveBlocks(tokensPerBlock);
    this.#evictions.clear();
    this.#epoch = { tokensPerBlock, index, active, inFlight };
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
      if (inFlight.mayHave(rank, view.getUint32(at, true)))
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
    return this.#choose(prompt, excluded, about).decided;
  }

  /** Looks at what a prompt costs on each rank, for the choices of `chooseIn` that follow. */
  look(prompt: RoutedPrompt | undefined): void {
    if (this.#epoch !== undefined) this.#survey.take(prompt, this.#epoch);
  }

  /** Chooses among the ranks of a scope, by the last `look` for the same prompt; undefined where none is left. Counts nothing. */
  chooseIn(
    scope: ChoiceScope,
    prompt: RoutedPrompt | undefined,
    excluded: readonly string[],
    about: AboutRequest = NOTHING_KNOWN,
  ): Choice | undefined {
    this.#weighed.weigh(excluded, this.#epoch?.active, prompt !== undefined, scope);
    if (this.#weighed.count === 0) return undefined;
    const at = this.#weighed.draw(this.#random, about.sessionHash);
    return { place: this.#weighed.placeAt(at), decided: this.#decided(at, prompt, about, scope) };
  }

  /** Targets of up to `count` further workers of a scope that could stand in for a choice of `chooseIn`, the best first. */
  nextBestIn(
    scope: ChoiceScope,
    { place }: Choice,
    prompt: RoutedPrompt | undefined,
    excluded: readonly string[],
    count: number,
  ): string[] {
    this.#weighed.weigh(excluded, this.#epoch?.active, prompt !== undefined, scope);
    return this.#weighed.nextBest(place, count);
  }

  /** Blocks of the prompt of the last `look` that a rank does not hold, those that are on their way there counted as held. */
  missingBlocks(place: number): number {
    return this.#survey.prefillBlocks(place);
  }

  /** Whether a rank with one of these parts lacks fewer blocks of the prompt of the last `look`. */
  hasNearlyAll(parts: number, blocks: number): boolean {
    const { all, parts: offered } = this.#ranks;
    for (let place = 0; place < all.length; place += 1)
      if (((offered[place] as number) & parts) !== 0 && this.#survey.prefillBlocks(place) < blocks)
        return true;
    return false;
  }

  /** Active blocks of a rank with those of the prompt of the last `look` added. */
  activeBlocks(place: number): number {
    return this.#survey.activeBlocks(place);
  }

  /** Another one whenever places are. */
  get placesVersion(): number {
    return this.#ranks.version;
  }

  get placeCount(): number {
    return this.#ranks.all.length;
  }

  /** Who stands at a place, until the candidates are others. */
  candidateAt(place: number): Candidate {
    return this.#ranks.at(place).candidate;
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
    return this.#count(this.#choose(prompt, excluded, about), prompt, false);
  }

  /**
   * Counts a request as active where `chooseIn` sends it, to be called before the next `look`. `isReceived`: its prompt is
   * computed elsewhere, and nothing of it there.
   */
  count(choice: Choice, prompt: RoutedPrompt | undefined, isReceived = false): Reservation {
    this.#takeTurn(choice);
    return this.#count(choice, prompt, isReceived);
  }

  #takeTurn({ place }: Choice): void {
    this.#decisions += 1;
    this.#ranks.at(place).lastTurn = this.#decisions;
  }

  #count({ place, decided }: Choice, prompt: RoutedPrompt | undefined, isReceived: boolean): Reservation {
    const epoch = this.#epoch as SurveyedEpoch;
    const { index, active, tokensPerBlock } = epoch;
    const rank = this.#ranks.at(place);
    if (prompt === undefined)
      return new Reserved(decided, active.add(rank.active, undefined), undefined, NOTHING_FOUND);
    const { sequenceHashes, tokenCount } = prompt;
    const request = active.add(rank.active, {
      sequenceHashes,
      tokenCount,
      prefillTokens: isReceived ? 0 : Math.round(decided.cost.potentialPrefillBlocks * tokensPerBlock),
    });
    const { target, rank: number, offer } = rank.candidate;
    const isFollowed =
      offer === 'full' && index !== undefined && !index.record(target, number, sequenceHashes);
    if (!isFollowed) return new Reserved(decided, request, undefined, NOTHING_FOUND);
    const flight = this.#fly(prompt, rank, epoch);
    return new Reserved(decided, request, flight, () => {
      // Another rank may have its place, and another epoch's blocks are others.
      if (this.#epoch !== epoch) return undefined;
      const now = this.#ranks.all.indexOf(rank);
      return now === -1 ? undefined : this.#survey.find(flight.prompt, now, epoch);
    });
  }

  #fly(prompt: RoutedPrompt, { inFlight: rank }: KnownRank, epoch: SurveyedEpoch): Flight {
    const { inFlight } = epoch;
    const { predictsOnRoute = true } = this.#options;
    const { sequenceHashes, tokenCount } = prompt;
    const hold = inFlight.add(
      rank,
      predictsOnRoute ? { sequenceHashes, tokenCount, prefillTokens: 0 } : undefined,
    );
    return new Flight({ prompt, rank }, { inFlight, evictions: this.#evictions, hold });
  }

  /** What each candidate would cost, and how likely it is to be chosen; the cheapest first. Draws nothing. */
  explain(prompt: RoutedPrompt | undefined, excluded: readonly string[]): CandidateCost[] {
    this.look(prompt);
    this.#weighed.weigh(excluded, this.#epoch?.active, prompt !== undefined);
    const costs = Array.from({ length: this.#weighed.count }, (_, at) => this.#costOf(at));
    return costs.sort((a, b) => a.logit - b.logit || b.probability - a.probability);
  }

  /**
   * Candidates of the request that was decided last, to be asked immediately after: the cheapest `most`, and the chosen
   * one and the best holder where they are not among those. `chosen` is of that decision.
   */
  cheapest(most: number, chosen: Candidate): CandidateCost[] {
    return cheapestOf(most, chosen, this.#tables, this.#options.weights);
  }

  /** Ranks that the last decision chose from. */
  get candidateCount(): number {
    return this.#weighed.count;
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

  /** Looks at all that can compute a whole request, and draws one. */
  #choose(prompt: RoutedPrompt | undefined, excluded: readonly string[], about: AboutRequest): Choice {
    this.look(prompt);
    const choice = this.chooseIn(WHOLE_REQUESTS, prompt, excluded, about);
    if (choice === undefined) throw this.noWorker(excluded);
    this.#takeTurn(choice);
    return choice;
  }

  #decided(at: number, prompt: RoutedPrompt | undefined, about: AboutRequest, scope: ChoiceScope): Decided {
    const cost = this.#costOf(at);
    const place = this.#weighed.placeAt(at);
    const { bestBlocks, lostReason, neighbour } = whatWasLost(at, about, scope, this.#tables);
    return {
      candidate: cost.candidate,
      cost,
      promptTokens: prompt?.tokenCount,
      isPrefix: prompt?.isPrefix,
      promptBlocks: prompt === undefined ? 0 : blocksOf(prompt, this.tokensPerBlock),
      cachedBlocks: cost.cachedBlocks.at(-1) ?? 0,
      bestBlocks,
      lostReason,
      neighbour,
      sharedBlocks: this.#survey.sharedBlocks(place),
      flyingBlocks: this.#survey.flyingBlocks(place),
      isDoubted: this.#ranks.at(place).trust !== undefined,
      ...(about.fallbacks === undefined ? {} : { fallbacks: this.#weighed.nextBest(place, about.fallbacks) }),
    };
  }

  #costOf(at: number): CandidateCost {
    return costAt(at, this.#tables, this.#options.weights);
  }

  /** Why no worker is left to choose. */
  noWorker(excluded: readonly string[]): RoutingError {
    const message = noWorkerMessage(this.#epoch === undefined ? undefined : this.#ranks.all, excluded);
    return new RoutingError('no_worker', message);
  }
}

const NOTHING_FOUND = (): undefined => undefined;
