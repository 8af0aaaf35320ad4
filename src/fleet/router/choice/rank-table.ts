import type { ActiveBlocks } from './active-blocks.js';
import { AGGREGATED_PARTS, type Candidate } from './candidates.js';
import { rankHash } from './session-affinity.js';

/** One candidate, and what is kept of it. */
export interface KnownRank {
  candidate: Candidate;
  /** Its number in the active blocks; meaningless before an epoch begins. */
  active: number;
  /** Its number among the prompts on their way; likewise. */
  inFlight: number;
  /** Stands for it in the choice by session. */
  readonly hash: number;
  /** When it was last chosen, counted in decisions; 0: never. */
  lastTurn: number;
  /** Part of what its view promises that its results support, while they contradict it; undefined while they do not. */
  trust: number | undefined;
}

/** No place: not a candidate. */
export const NOWHERE = -1;

/** The candidates of a group. Each has a place, which is good until the candidates are others. */
export class RankTable {
  #active: ActiveBlocks | undefined;
  #inFlight: ActiveBlocks | undefined;
  /** As they came, those that are left out with them. */
  #given: readonly Candidate[] = [];
  #all: readonly KnownRank[] = [];
  #byKey = new Map<string, KnownRank>();
  #parts = new Uint8Array(0);
  /** By the number in the active blocks. */
  #places = new Int32Array(0);
  /** By the number among the prompts on their way. */
  #flightPlaces = new Int32Array(0);
  #version = 0;
  #leftOut = 0;

  /** By place. */
  get all(): readonly KnownRank[] {
    return this.#all;
  }

  /** What each can compute, bits of `PARTS`, by place: a decision looks at all of them. */
  get parts(): Uint8Array {
    return this.#parts;
  }

  /** Another one whenever places are. */
  get version(): number {
    return this.#version;
  }

  /** Candidates for which the active blocks have no number left. */
  get leftOut(): number {
    return this.#leftOut;
  }

  at(place: number): KnownRank {
    return this.#all[place] as KnownRank;
  }

  /** Place of a number in the active blocks. */
  placeOfActive(active: number): number {
    return this.#places[active] ?? NOWHERE;
  }

  /** Place of a number among the prompts on their way. */
  placeOfFlight(inFlight: number): number {
    return this.#flightPlaces[inFlight] ?? NOWHERE;
  }

  /** One that may be chosen; undefined where it is none. */
  find(target: string, rank: number): KnownRank | undefined {
    return this.#byKey.get(keyOf(target, rank));
  }

  /** Other active blocks, in which nothing is active yet. Turns go on. */
  begin(active: ActiveBlocks, inFlight: ActiveBlocks): void {
    this.#inFlight = inFlight;
    const before = this.#byKey;
    this.#byKey = new Map();
    this.#active = active;
    this.set(this.#given);
    for (const [key, known] of this.#byKey) known.lastTurn = before.get(key)?.lastTurn ?? 0;
  }

  /** What is active on those who are gone, or are another instance, ends. Of two for the same rank the first counts. */
  set(candidates: readonly Candidate[]): void {
    this.#given = candidates;
    const wanted = new Map<string, Candidate>();
    for (const candidate of candidates) {
      const key = keyOf(candidate.target, candidate.rank);
      if (!wanted.has(key)) wanted.set(key, candidate);
    }
    for (const [key, { candidate, active, inFlight }] of this.#byKey) {
      if (wanted.get(key)?.instanceId === candidate.instanceId) continue;
      this.#active?.dropRank(active);
      this.#inFlight?.dropRank(inFlight);
      this.#byKey.delete(key);
    }
    const all: KnownRank[] = [];
    for (const [key, candidate] of wanted) {
      const known = this.#byKey.get(key) ?? this.#add(key, candidate);
      if (known === undefined) continue;
      known.candidate = candidate;
      all.push(known);
    }
    this.#all = all;
    this.#parts = Uint8Array.from(all, ({ candidate: { parts = AGGREGATED_PARTS } }) => parts);
    this.#leftOut = wanted.size - all.length;
    this.#places = new Int32Array(1 + all.reduce((most, { active }) => Math.max(most, active), 0));
    this.#places.fill(NOWHERE);
    for (const [place, { active }] of all.entries()) this.#places[active] = place;
    this.#flightPlaces = new Int32Array(1 + all.reduce((most, { inFlight }) => Math.max(most, inFlight), 0));
    this.#flightPlaces.fill(NOWHERE);
    for (const [place, { inFlight }] of all.entries()) this.#flightPlaces[inFlight] = place;
    this.#version += 1;
  }

  /** What its results support of the view of a rank; undefined: all of it. */
  trust(target: string, rank: number, trust: number | undefined): void {
    const known = this.find(target, rank);
    if (known !== undefined) known.trust = trust;
  }

  /** Places by the key of `keyOf`. */
  placesByKey(): Map<string, number> {
    return new Map(this.#all.map(({ candidate }, place) => [keyOf(candidate.target, candidate.rank), place]));
  }

  /** Both numbers or none: a rank without one of them is left out. */
  #add(key: string, candidate: Candidate): KnownRank | undefined {
    const active = this.#active === undefined ? 0 : this.#active.addRank();
    if (active === undefined) return undefined;
    const inFlight = this.#inFlight === undefined ? 0 : this.#inFlight.addRank();
    if (inFlight === undefined) {
      this.#active?.dropRank(active);
      return undefined;
    }
    const hash = rankHash(candidate.workerId || candidate.target, candidate.rank);
    const known = { candidate, active, inFlight, hash, lastTurn: 0, trust: undefined };
    this.#byKey.set(key, known);
    return known;
  }
}

/** Names one rank of one worker. */
export function keyOf(target: string, rank: number): string {
  return `${rank} ${target}`;
}
