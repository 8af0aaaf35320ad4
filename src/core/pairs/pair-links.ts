import type { ProfileJudgement } from './judge-profiles.js';
import { classAcrossHosts } from './pair-class.js';
import { channelFrom, classOfEntries, judgementOf, mayUseBy, mayUseEntries } from './pair-judge.js';
import type { PairMembers } from './pair-members.js';
import type { Entry, Place } from './pair-role.js';
import { PAIR_CLASSES, type PairClass, type PairPolicy } from './pair-words.js';

/** No request may be sent over a pair. */
export const NO_LINK = 0;

/** What stands for a class in `PairLinks.classes`. */
export function linkCodeOf(pairClass: PairClass): number {
  return PAIR_CLASSES.indexOf(pairClass) + 1;
}

/** The pairs of one prefill worker, by the number of the decode worker. Good until the next question; not to be changed. */
export interface PairLinks {
  /** `NO_LINK`, or `linkCodeOf` its class. */
  readonly classes: Uint8Array;
  /** Measured ms per MiB; NaN before the first transfer that was measured. */
  readonly millisecondsPerMebibyte: Float64Array;
}

const STATES: readonly ProfileJudgement['state'][] = ['can_pair', 'cannot_say', 'cannot_pair'];

/** Numbers that `Place.judged` can have: 0 for not judged, then each class with each state. */
const JUDGEMENTS = 1 + PAIR_CLASSES.length * STATES.length;

/**
 * All pairs of one prefill worker together, for a decision among all decode
 * workers: two places are judged once for all who stand there, and only
 * neighbours on its host and pairs that were used are looked at one by one.
 * Its lists are kept from one question to the next.
 */
export class PairLinksTable {
  readonly #members: PairMembers;
  readonly #policy: PairPolicy;
  /** By number of the decode place. */
  #byPlace = new Uint8Array(0);
  /** By what `Place.judged` has. */
  readonly #byJudgement = new Uint8Array(JUDGEMENTS);
  #classes = new Uint8Array(0);
  #costs = new Float64Array(0);

  constructor(members: PairMembers, policy: PairPolicy) {
    this.#members = members;
    this.#policy = policy;
  }

  /** See `PairLookup.linksOf`. */
  of(prefillTarget: string): PairLinks | undefined {
    const prefill = this.#members.prefill.entries.get(prefillTarget);
    if (prefill === undefined) return undefined;
    this.#reserve();
    this.#judgeEach(prefill);
    this.#lookAtPlaces(prefill);
    const { placeOf, limit } = this.#members.decode;
    for (let number = 0; number < limit; number += 1)
      this.#classes[number] = this.#byPlace[placeOf[number] as number] as number;
    this.#costs.fill(Number.NaN, 0, limit);
    for (const near of this.#members.onSameHost(prefill)) this.#lookAt(prefill, near);
    for (const [decode, service] of prefill.service) {
      this.#costs[decode.number] = service.meter.millisecondsPerMebibyte;
      if (service.asideUntilMs !== undefined) this.#lookAt(prefill, decode);
    }
    return { classes: this.#classes, millisecondsPerMebibyte: this.#costs };
  }

  #lookAt(prefill: Entry, decode: Entry): void {
    this.#classes[decode.number] = mayUseEntries(prefill, decode, this.#policy)
      ? linkCodeOf(classOfEntries(prefill, decode))
      : NO_LINK;
  }

  /** What each judgement comes to with the side channels of this worker. */
  #judgeEach(prefill: Entry): void {
    let judged = 1;
    for (const pairClass of PAIR_CLASSES) {
      const channel = channelFrom(prefill, pairClass);
      for (const state of STATES) {
        this.#byJudgement[judged] = mayUseBy(state, channel, this.#policy) ? linkCodeOf(pairClass) : NO_LINK;
        judged += 1;
      }
    }
  }

  #lookAtPlaces(prefill: Entry): void {
    const { judged } = prefill.place;
    for (const place of this.#members.decode.places.values()) {
      const known = judged.get(place.number) || judge(prefill, place);
      this.#byPlace[place.number] = this.#byJudgement[known] as number;
    }
  }

  #reserve(): void {
    const { limit, placeLimit } = this.#members.decode;
    // The first place is nobody's: no request may be sent there.
    if (this.#byPlace.length < placeLimit) this.#byPlace = new Uint8Array(Math.ceil(1.5 * placeLimit));
    if (this.#classes.length >= limit) return;
    const room = Math.ceil(1.5 * limit);
    this.#classes = new Uint8Array(room);
    this.#costs = new Float64Array(room);
  }
}

/** Judges two places by any of their members, as if these were on different hosts. */
function judge(prefill: Entry, place: Place): number {
  const [decode] = place.members;
  if (decode === undefined) return 0;
  const pairClass = classAcrossHosts(prefill.member.position, decode.member.position);
  const state = STATES.indexOf(judgementOf(prefill, decode).state);
  const judged = 1 + PAIR_CLASSES.indexOf(pairClass) * STATES.length + state;
  prefill.place.judged.set(place.number, judged);
  return judged;
}
