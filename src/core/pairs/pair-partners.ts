import { judgementOf } from './pair-judge.js';
import type { PairMembers } from './pair-members.js';
import { type Entry, firstByName, type Role } from './pair-role.js';

/** P5: whether members of the other role are there and the profiles of all of them are known not to go with this one's. */
export function hasNoPartner(members: PairMembers, entry: Entry): boolean {
  const { partnersVersion: version } = members;
  const { profileClass } = entry;
  if (profileClass.partners?.version !== version)
    profileClass.partners = { version, exist: hasPartner(members, entry) };
  return !profileClass.partners.exist;
}

function hasPartner(members: PairMembers, entry: Entry): boolean {
  const others = members.othersOf(entry);
  const isAnyUnjudged = members.prefill.overflow.members.size + members.decode.overflow.members.size > 0;
  if (others.entries.size === 0 || isAnyUnjudged) return true;
  const isPrefill = entry.member.role === 'prefill';
  for (const { members: alike } of others.classes.values()) {
    for (const other of alike) {
      const { state } = isPrefill ? judgementOf(entry, other) : judgementOf(other, entry);
      if (state !== 'cannot_pair') return true;
      break; // the others of this class are judged alike
    }
  }
  return false;
}

/** The first by name of those of the other role that most are alike to, as prefill and decode target. */
export function nearestMiss(members: PairMembers, entry: Entry): readonly [string, string] | undefined {
  const { role, target } = entry.member;
  const [other] = [...members.othersOf(entry).classes.values()]
    .map(({ members: alike }) => ({ count: alike.size, first: firstByName(alike) }))
    .sort((a, b) => b.count - a.count || (a.first < b.first ? -1 : 1));
  if (other === undefined) return undefined;
  return role === 'prefill' ? [target, other.first] : [other.first, target];
}

/** A pair of each two profiles, by name, as prefill and decode target. */
export function* pairsOfProfiles({ prefill, decode }: PairMembers): Generator<readonly [string, string]> {
  const decodes = firstsOf(decode);
  for (const ours of firstsOf(prefill)) for (const theirs of decodes) yield [ours, theirs];
}

function firstsOf({ classes }: Role): string[] {
  return [...classes.values()].map(({ members }) => firstByName(members)).sort();
}
