import type { ProfileJudgement } from './judge-profiles.js';
import type { PairMember } from './pair-member.js';
import type { PairService } from './pair-service.js';
import type { PairClass } from './pair-words.js';
import type { ChannelAnswer } from './side-channels.js';
import type { TransferProfile } from './transfer-profile.js';

/** Different transfer profiles that are kept apart for each role: a fleet has a few, hostile reports could have any number. */
export const MAX_PROFILES_OF_ROLE = 256;

/** Members that have one profile. What is judged of one holds for all. */
export interface ProfileClass {
  readonly profile: TransferProfile;
  readonly members: Set<Entry>;
  /** By the other role's class. */
  readonly judgements: Map<ProfileClass, ProfileJudgement>;
  /** Whether a class of the other role goes with it, and by which `partnersVersion` that was looked at. */
  partners: { readonly version: number; readonly exist: boolean } | undefined;
}

/** A member with what is known of its pairs. */
export interface Entry {
  readonly member: PairMember;
  readonly profileClass: ProfileClass;
  /** Prefill members: what decode workers of a class found of the side channel; shared by all of the class. */
  readonly channel: Map<PairClass, ChannelAnswer>;
  /** By the other member, only of those on the same host. */
  readonly near: Map<Entry, PairClass>;
  /** Prefill members: pairs that were used. */
  readonly service: Map<Entry, PairService>;
  /** `PairBook.version` when something of all its pairs changed last. */
  changedAt: number;
}

/** The members of one role, by target and by profile. */
export class Role {
  readonly entries: Map<string, Entry> = new Map();
  readonly classes: Map<string, ProfileClass> = new Map();
  /** Members of one place and profile: whatever holds of a pair with one on another host holds of all of them. */
  readonly places: Map<string, Set<Entry>> = new Map();

  add(entry: Entry): void {
    const { member, profileClass } = entry;
    this.entries.set(member.target, entry);
    profileClass.members.add(entry);
    const key = placeKey(member);
    const there = this.places.get(key);
    if (there === undefined) this.places.set(key, new Set([entry]));
    else there.add(entry);
  }

  delete(entry: Entry): void {
    const { member, profileClass } = entry;
    this.entries.delete(member.target);
    profileClass.members.delete(entry);
    const key = placeKey(member);
    const there = this.places.get(key);
    there?.delete(entry);
    if (there?.size === 0) this.places.delete(key);
  }

  /** The class of a profile; undefined where there are too many. */
  classOf(profile: TransferProfile): ProfileClass | undefined {
    const known = this.classes.get(profile.key);
    if (known !== undefined) return known;
    if (this.classes.size >= MAX_PROFILES_OF_ROLE) return undefined;
    const made: ProfileClass = { profile, members: new Set(), judgements: new Map(), partners: undefined };
    this.classes.set(profile.key, made);
    return made;
  }
}

function placeKey({ position, profile }: PairMember): string {
  const { node, fabrics, rack, zone, region } = position;
  return JSON.stringify([node, fabrics, rack, zone, region, profile.key]);
}

/** The target that comes first, so that the order in which workers came does not show. */
export function firstByName(members: ReadonlySet<Entry>): string {
  let first: string | undefined;
  for (const { member } of members) if (first === undefined || member.target < first) first = member.target;
  return first ?? '';
}
