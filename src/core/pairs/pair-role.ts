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
  /** Undefined for the members whose profile has no room. */
  readonly profile: TransferProfile | undefined;
  readonly members: Set<Entry>;
  /** By the other role's class. */
  readonly judgements: Map<ProfileClass, ProfileJudgement>;
  /** Whether a class of the other role goes with it, and by which `PairMembers.partnersVersion` that was looked at. */
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
  /** Members of one place and profile: pairs with them across hosts are of one class, and judged alike. */
  readonly places: Map<string, Set<Entry>> = new Map();
  /** By the name of their node; those that name none by the empty text. */
  readonly hosts: Map<string, Set<Entry>> = new Map();

  add(entry: Entry): void {
    const { member, profileClass } = entry;
    this.entries.set(member.target, entry);
    profileClass.members.add(entry);
    if (profileClass.profile !== undefined) this.classes.set(profileClass.profile.key, profileClass);
    addTo(this.places, placeKey(entry), entry);
    addTo(this.hosts, member.position.node, entry);
  }

  delete(entry: Entry): void {
    const { member, profileClass } = entry;
    this.entries.delete(member.target);
    profileClass.members.delete(entry);
    if (profileClass.profile !== undefined && profileClass.members.size === 0)
      this.classes.delete(profileClass.profile.key);
    deleteFrom(this.places, placeKey(entry), entry);
    deleteFrom(this.hosts, member.position.node, entry);
  }

  /** The class for members of a profile: a new one, or that without a profile where there are too many. */
  classOf(profile: TransferProfile): ProfileClass {
    const known = this.classes.get(profile.key);
    if (known !== undefined) return known;
    return this.classes.size < MAX_PROFILES_OF_ROLE ? emptyClass(profile) : this.overflow;
  }
}

function emptyClass(profile: TransferProfile | undefined): ProfileClass {
  return { profile, members: new Set(), judgements: new Map(), partners: undefined };
}

function placeKey({ member, profileClass }: Entry): string {
  const { fabrics, rack, zone, region } = member.position;
  return JSON.stringify([fabrics, rack, zone, region, profileClass.profile?.key ?? '']);
}

function addTo(groups: Map<string, Set<Entry>>, key: string, entry: Entry): void {
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
