import type { Random } from '../../../edge/platform/random.js';
import type { RouterMode } from '../routing.js';
import type { ActiveBlocks } from './active-blocks.js';
import { PARTS } from './candidates.js';
import { draw, weighCheapest, weighEvenly, weighSoftly } from './choose.js';
import type { KnownRank, RankTable } from './rank-table.js';
import { preference } from './session-affinity.js';
import type { Survey } from './survey.js';

/** Targets up to which they are looked through one by one. */
const FEW_TARGETS = 8;

/** Whether a target is one of those; undefined where there are none. */
function excluding(targets: readonly string[]): ((target: string) => boolean) | undefined {
  if (targets.length === 0) return undefined;
  if (targets.length <= FEW_TARGETS) return (target) => targets.includes(target);
  const all = new Set(targets);
  return (target) => all.has(target);
}

/** Which ranks a choice is made of. */
export interface ChoiceScope {
  /** What they have to compute, bits of `PARTS`, one of which is enough. */
  readonly parts: number;
  /** Whether the one at a place of the table may be chosen. Default: each. */
  readonly mayUse?: ((place: number) => boolean) | undefined;
  /** With `--router-mode kv`: what the request costs at a place of the table. Default: its logit. */
  readonly costAt?: ((place: number) => number) | undefined;
}

/** Those that can compute a whole request. */
export const WHOLE_REQUESTS: ChoiceScope = { parts: PARTS.whole };

/** How chances follow from costs. */
export interface WeighedRanksOptions {
  readonly mode: RouterMode;
  /** 0: always the cheapest; above: the higher, the more often another one. */
  readonly temperature: number;
}

export interface WeighedRanksModules {
  readonly ranks: RankTable;
  /** Has the costs of the request. */
  readonly survey: Survey;
}

/** The ranks that a request may go to, and how likely each is. Its lists are kept from one request to the next. */
export class WeighedRanks {
  readonly #options: WeighedRanksOptions;
  readonly #ranks: RankTable;
  readonly #survey: Survey;
  /** Places of those that are not excluded; the lists below are in the same order. */
  #left = new Uint32Array(0);
  #leftCount = 0;
  #costs = new Float64Array(0);
  #seconds = new Float64Array(0);
  #weights = new Float64Array(0);
  /** Of the weights. */
  #sum = 0;
  #costAt: ChoiceScope['costAt'];

  constructor(options: WeighedRanksOptions, { ranks, survey }: WeighedRanksModules) {
    this.#options = options;
    this.#ranks = ranks;
    this.#survey = survey;
  }

  /** How many are left. */
  get count(): number {
    return this.#leftCount;
  }

  /** The place in the table of one of those that are left. */
  placeAt(at: number): number {
    return this.#left[at] as number;
  }

  /** How likely it is to be chosen. */
  probability(at: number): number {
    return (this.#weights[at] as number) / this.#sum;
  }

  /** What the request costs at one of those that are left, with `--router-mode kv`. */
  costAt(at: number): number {
    return this.#costOfPlace(this.placeAt(at));
  }

  /** Weighs those of a scope that are not excluded (targets); none is left before an epoch's `active` is there. */
  weigh(
    excluded: readonly string[],
    active: ActiveBlocks | undefined,
    isPromptKnown: boolean,
    scope: ChoiceScope = WHOLE_REQUESTS,
  ): void {
    const { parts, mayUse, costAt } = scope;
    this.#costAt = costAt;
    this.#leftCount = 0;
    this.#sum = 0;
    if (active === undefined) return;
    this.#reserve(this.#ranks.all.length);
    const isExcluded = excluding(excluded);
    const { all, parts: offered } = this.#ranks;
    for (let place = 0; place < all.length; place += 1) {
      if (((offered[place] as number) & parts) === 0) continue;
      if (isExcluded?.((all[place] as KnownRank).candidate.target)) continue;
      if (mayUse?.(place) === false) continue;
      this.#left[this.#leftCount] = place;
      this.#leftCount += 1;
    }
    this.#sum = this.#weigh(active, isPromptKnown);
  }

  /** One of them, by chance or by the session: of those that are equally good the one that it prefers. */
  draw(random: Pick<Random, 'fraction'>, sessionHash: number | undefined): number {
    return sessionHash === undefined || !this.#hasTies()
      ? draw(this.#weights, this.#leftCount, this.#sum, random.fraction())
      : this.#ofSession(sessionHash);
  }

  /** Targets of up to `count` further workers, the best first, of as many ranks as the one at `place` of the table. */
  nextBest(place: number, count: number): string[] {
    const { target, rankCount } = this.#ranks.at(place).candidate;
    const next: string[] = [];
    const named = new Set([target]);
    while (next.length < count) {
      let best: number | undefined;
      for (let at = 0; at < this.#leftCount; at += 1) {
        const { candidate } = this.#ranks.at(this.placeAt(at));
        if (named.has(candidate.target) || candidate.rankCount !== rankCount) continue;
        if (best === undefined || this.#isBetter(at, best)) best = at;
      }
      if (best === undefined) break;
      const { candidate } = this.#ranks.at(this.placeAt(best));
      named.add(candidate.target);
      next.push(candidate.target);
    }
    return next;
  }

  /** Whether one of those that are left costs less than another, or where that decides nothing has waited longer. */
  #isBetter(at: number, than: number): boolean {
    const { mode } = this.#options;
    if (mode === 'kv' || mode === 'least-loaded') {
      const [cost, other] = [this.#costs[at] as number, this.#costs[than] as number];
      if (cost !== other) return cost < other;
    }
    return this.#ranks.at(this.placeAt(at)).lastTurn < this.#ranks.at(this.placeAt(than)).lastTurn;
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

  #weigh(active: ActiveBlocks, isPromptKnown: boolean): number {
    const { mode, temperature } = this.#options;
    const count = this.#leftCount;
    const costs = this.#costs;
    const weights = this.#weights;
    switch (mode) {
      case 'kv':
        for (let at = 0; at < count; at += 1) costs[at] = this.#costOfPlace(this.#left[at] as number);
        if (temperature > 0) return weighSoftly(costs, count, temperature, weights);
        if (isPromptKnown) {
          // Of those that cost the same the one that computes least: load is even again when a request ends, a copy of a prefix stays.
          for (let at = 0; at < count; at += 1)
            this.#seconds[at] = this.#survey.prefillBlocks(this.#left[at] as number);
          return weighCheapest(costs, count, weights, this.#seconds);
        }
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

  #costOfPlace(place: number): number {
    return this.#costAt === undefined ? (this.#survey.logits[place] as number) : this.#costAt(place);
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

  #reserve(count: number): void {
    if (this.#left.length >= count) return;
    const room = Math.ceil(1.5 * count);
    this.#left = new Uint32Array(room);
    this.#costs = new Float64Array(room);
    this.#seconds = new Float64Array(room);
    this.#weights = new Float64Array(room);
  }
}
