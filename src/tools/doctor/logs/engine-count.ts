import type { EngineReading } from '../../../engines/diagnosis/log-findings.js';
import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import type { Origin } from '../sightings.js';
import type { EngineTally } from './log-summary.js';
import { RankLoads } from './rank-loads.js';
import { GaugeTally } from './spreads.js';

/** Below this use of its cache an engine keeps what prompts may have in common. */
const ROOMY = 0.5;
/** A share of hits below this is none. */
export const NOTHING_BELOW = 0.01;

/** What an engine reports of its cache and its requests, summed over its lines. */
export class EngineCount {
  readonly #prefixHitRate = new GaugeTally();
  readonly #kvCacheUsage = new GaugeTally();
  readonly #usageWhileWaiting = new GaugeTally();
  readonly #runningRequests = new GaugeTally();
  readonly #waitingRequests = new GaugeTally();
  readonly #ranks = new RankLoads();
  readonly #first: LogLine;
  #last: LogLine;
  #promptTokens = 0;
  #cachedTokens = 0;
  #lookedUpTokens = 0;
  #wantedTokens = 0;
  #retrievedTokens = 0;
  #missesWithRoom = 0;
  #longestLookupTokens = 0;

  constructor(first: LogLine) {
    this.#first = first;
    this.#last = first;
  }

  add(reading: EngineReading, line: LogLine): void {
    this.#last = line;
    this.#promptTokens += reading.promptTokens ?? 0;
    this.#cachedTokens += reading.cachedTokens ?? 0;
    this.#lookedUpTokens += reading.lookedUpTokens ?? 0;
    this.#wantedTokens += reading.wantedTokens ?? 0;
    this.#retrievedTokens += reading.retrievedTokens ?? 0;
    if (reading.lookedUpTokens !== undefined)
      this.#longestLookupTokens = Math.max(this.#longestLookupTokens, reading.promptTokens ?? 0);
    if (isMissWithRoom(reading)) this.#missesWithRoom += 1;
    this.#prefixHitRate.add(reading.prefixHitRate);
    this.#kvCacheUsage.add(reading.kvCacheUsage);
    if ((reading.waitingRequests ?? 0) > 0) this.#usageWhileWaiting.add(reading.kvCacheUsage);
    this.#runningRequests.add(reading.runningRequests);
    this.#waitingRequests.add(reading.waitingRequests);
    this.#ranks.add(reading, line);
  }

  /** A lookup is a promise: where ranks say what they got, that share of it was reused. */
  #cameOfLookups(): number {
    const share = this.#wantedTokens === 0 ? 1 : Math.min(1, this.#retrievedTokens / this.#wantedTokens);
    return Math.round(this.#lookedUpTokens * share);
  }

  finish(originOf: (line: LogLine) => Origin): EngineTally {
    const uneven = this.#ranks.finish();
    return {
      promptTokens: this.#promptTokens,
      cachedTokens: this.#cachedTokens + this.#cameOfLookups(),
      prefixHitRate: this.#prefixHitRate.gauge,
      kvCacheUsage: this.#kvCacheUsage.gauge,
      usageWhileWaiting: this.#usageWhileWaiting.gauge,
      missesWithRoom: this.#missesWithRoom,
      longestLookupTokens: this.#longestLookupTokens,
      runningRequests: this.#runningRequests.gauge,
      waitingRequests: this.#waitingRequests.gauge,
      first: originOf(this.#first),
      last: originOf(this.#last),
      ...(uneven === undefined ? {} : { unevenRanks: { ...uneven, first: originOf(uneven.first) } }),
    };
  }
}

function isMissWithRoom({ kvCacheUsage, prefixHitRate, promptTokens, cachedTokens }: EngineReading): boolean {
  if (kvCacheUsage === undefined || kvCacheUsage >= ROOMY) return false;
  if (prefixHitRate !== undefined) return prefixHitRate < NOTHING_BELOW;
  return promptTokens !== undefined && cachedTokens === 0;
}
