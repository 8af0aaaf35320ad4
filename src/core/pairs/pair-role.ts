import type { ProfileJudgement } from './judge-profiles.js';
import type { PairMember } from './pair-member.js';
import type { PairService } from './pair-service.js';
import type { PairClass } from './pair-words.js';
import { PlaceJudgements } from './place-judgements.js';
import type { ChannelAnswer } from './side-channels.js';
import { SmallNumbers } from './small-numbers.js';
import type { TransferProfile } from './transfer-profile.js';

/** Different transfer profiles that are kept apart for each role: a fleet has a few, hostile reports could have any number. */
export const MAX_PROFILES_OF_ROLE = 256;

/** Members that have one profile. What is judged of one holds for all. */
export interface ProfileClass {
  /** Undefined for the members whose profile has no room. */
  readonly profile: TransferProfile | undefined;
  readonly members: Set<Entry>;
  /** By the other role's class. */
  readonly judgements: Map<ProfileClass, ProfileJudgement>;
  /** Whether a class of the other role goes with it, and by which `PairMembers.partnersVersion` that was looked at. */
  partners: { readonly version: number; readonly exist: boolean } | undefined;
}

/** Members of one place and profile: pairs with them across hosts are of one class, and judged alike. */
export interface Place {
  readonly number: number;
  readonly members: Set<Entry>;
  /** What its pairs with each place of the other role come to, of prefill places; see `PairLinksTable`. */
  readonly judged: PlaceJudgements;
}

/** A member with what is known of its pairs. */
export interface Entry {
  readonly member: PairMember;
  /** In its role, and the place there that it stands at; nothing while it is in none. */
  number: number;
  place: Place;
  readonly profileClass: ProfileClass;
  /** Prefill members: what decode workers of a class found of the side channel; shared by all of the class. */
  readonly channel: Map<PairClass, ChannelAnswer>;
  /** By the other member, only of those on the same host. */
  readonly near: Map<Entry, PairClass>;
  /** Prefill members: pairs that were used. */
  readonly service: Map<Entry, PairService>;
  /** `PairChanges.version` when something of all its pairs changed last. */
  changedAt: number;
}

/** The members of one role, by target, by profile, by place and by host. */
export class Role {
  readonly entries: Map<string, Entry> = new Map();
  /** By the profile's key; never empty ones. */
  readonly classes: Map<string, ProfileClass> = new Map();
  /** Members whose profile has no room. */
  readonly overflow: ProfileClass = emptyClass(undefined);
  readonly places: Map<string, Place> = new Map();
  /** By the name of their node, of those that name one. */
  readonly hosts: Map<string, Set<Entry>> = new Map();
  /** By the id of a whole GPU that is theirs, or of which they have a slice. */
  readonly gpus: Map<string, Set<Entry>> = new Map();
  readonly #numbers = new SmallNumbers();
  #placeOf = new Int32Array(0);
  readonly #placeNumbers = new SmallNumbers(1);
  #lastVersion = 0;
  #numbersVersion = 0;
  /** Who left last, and the version until then. */
  #left: { readonly target: string; readonly number: number; readonly version: number } | undefined;

  /** Another one whenever the members have other numbers. A worker that starts again has the one that it had. */
  get numbersVersion(): number {
    return this.#numbersVersion;
  }

  /** Above the largest number of a member. */
  get limit(): number {
    return this.#numbers.limit;
  }

  /** Number of the place by that of the member; `NO_PLACE.number` where nobody has the number. */
  get placeOf(): Int32Array {
    return this.#placeOf;
  }

  /** Above the largest number of a place. */
  get placeLimit(): number {
    return this.#placeNumbers.limit;
  }

  add(entry: Entry): void {
    const { member, profileClass } = entry;
    this.entries.set(member.target, entry);
    profileClass.members.add(entry);
    if (profileClass.profile !== undefined) this.classes.set(profileClass.profile.key, profileClass);
    entry.number = this.#numbers.take();
    const left = this.#left;
    this.#changeNumbers();
    if (left?.target === member.target && left.number === entry.number) this.#numbersVersion = left.version;
    entry.place = this.#standAt(entry);
    entry.place.members.add(entry);
    this.#notePlace(entry.number, entry.place.number);
    addTo(this.hosts, member.position.node, entry);
    for (const { wholeId } of member.position.gpus) addTo(this.gpus, wholeId, entry);
  }

  /** The place that is gone with it, if any. */
  delete(entry: Entry): Place | undefined {
    const { member, profileClass, place } = entry;
    this.entries.delete(member.target);
    profileClass.members.delete(entry);
    if (profileClass.profile !== undefined && profileClass.members.size === 0)
      this.classes.delete(profileClass.profile.key);
    this.#notePlace(entry.number, NO_PLACE.number);
    this.#numbers.giveBack(entry.number);
    const version = this.#numbersVersion;
    this.#changeNumbers();
    this.#left = { target: member.target, number: entry.number, version };
    deleteFrom(this.hosts, member.position.node, entry);
    for (const { wholeId } of member.position.gpus) deleteFrom(this.gpus, wholeId, entry);
    place.members.delete(entry);
    if (place.members.size > 0) return undefined;
    this.places.delete(placeKey(entry));
    this.#placeNumbers.giveBack(place.number);
    return place;
  }

  #changeNumbers(): void {
    this.#lastVersion += 1;
    this.#numbersVersion = this.#lastVersion;
    this.#left = undefined;
  }

  #notePlace(number: number, place: number): void {
    if (number >= this.#placeOf.length) {
      const larger = new Int32Array(Math.max(FIRST_ROOM, 2 * number));
      larger.set(this.#placeOf);
      this.#placeOf = larger;
    }
    this.#placeOf[number] = place;
  }

  #standAt(entry: Entry): Place {
    const key = placeKey(entry);
    const known = this.places.get(key);
    if (known !== undefined) return known;
    const made = {
      number: this.#placeNumbers.take(),
      members: new Set<Entry>(),
      judged: new PlaceJudgements(),
    };
    this.places.set(key, made);
    return made;
  }

  /** The class for members of a profile: a new one, or that without a profile where there are too many. */
  classOf(profile: TransferProfile): ProfileClass {
    const known = this.classes.get(profile.key);
    if (known !== undefined) return known;
    return this.classes.size < MAX_PROFILES_OF_ROLE ? emptyClass(profile) : this.overflow;
  }
}

const FIRST_ROOM = 16;

/** Of an entry that is in no role. */
export const NO_PLACE: Place = { number: 0, members: new Set(), judged: new PlaceJudgements() };

function emptyClass(profile: TransferProfile | undefined): ProfileClass {
  return { profile, members: new Set(), judgements: new Map(), partners: undefined };
}

function placeKey({ member, profileClass }: Entry): string {
  const { fabrics, rack, zone, region } = member.position;
  return JSON.stringify([fabrics, rack, zone, region, profileClass.profile?.key ?? '']);
}

/** Those without a name are in no group. */
function addTo(groups: Map<string, Set<Entry>>, key: string, entry: Entry): void {
  if (key === '') return;
  const there = groups.get(key);
  if (there === undefined) groups.set(key, new Set([entry]));
  else there.add(entry);
}

function deleteFrom(groups: Map<string, Set<Entry>>, key: string, entry: Entry): void {
  const there = groups.get(key);
  there?.delete(entry);
  if (there?.size === 0) groups.delete(key);
}

/** The target that comes first, so that the order in which workers came does not show. */
export function firstByName(members: ReadonlySet<Entry>): string {
  let first: string | undefined;
  for (const { member } of members) if (first === undefined || member.target < first) first = member.target;
  return first ?? '';
}
