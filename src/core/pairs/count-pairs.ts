import { classAcrossHosts, isSameHost } from './pair-class.js';
import { channelFrom, judgementOf, stateBeforeService, stateOfEntries } from './pair-judge.js';
import type { PairMembers } from './pair-members.js';
import type { Entry } from './pair-role.js';
import type { PairClass, PairState } from './pair-words.js';
import type { EntryPair } from './pairs-in-service.js';

/** How many pairs there are in each state. */
export type PairCounts = Readonly<Record<PairState, number>>;

/**
 * Counts pairs by state. All of two places are counted together as if each two
 * were on different hosts; then pairs on one host, and those that are set
 * aside, are moved to the state that they have. Costs places of both roles,
 * prefill workers times the classes of their pairs, and pairs on one host.
 */
export function countPairs(members: PairMembers, aside: Iterable<EntryPair>): PairCounts {
  const counts = { can_pair: 0, cannot_say: 0, cannot_pair: 0, set_aside: 0 };
  for (const { members: prefills } of members.prefill.places.values()) addPlace(counts, prefills, members);
  const move = ({ prefill, decode }: EntryPair): void => {
    counts[stateAcrossHosts(prefill, decode)] -= 1;
    counts[stateOfEntries(prefill, decode)] += 1;
  };
  for (const prefill of members.prefill.entries.values())
    for (const decode of members.onSameHost(prefill)) move({ prefill, decode });
  for (const pair of aside) {
    if (!isSameHost(pair.prefill.member.position, pair.decode.member.position)) move(pair);
  }
  return counts;
}

/** Adds the pairs of all prefill workers of one place. */
function addPlace(
  counts: Record<PairState, number>,
  prefills: ReadonlySet<Entry>,
  { decode }: PairMembers,
): void {
  const [ours] = prefills;
  if (ours === undefined) return;
  /** Decode workers with which these can pair, or cannot be said to, by the class of these pairs. */
  const alike = { can_pair: new Map<PairClass, number>(), cannot_say: new Map<PairClass, number>() };
  for (const { members: decodes } of decode.places.values()) {
    const [theirs] = decodes;
    if (theirs === undefined) continue;
    const { state } = judgementOf(ours, theirs);
    if (state === 'cannot_pair') counts.cannot_pair += prefills.size * decodes.size;
    else {
      const pairClass = classAcrossHosts(ours.member.position, theirs.member.position);
      alike[state].set(pairClass, (alike[state].get(pairClass) ?? 0) + decodes.size);
    }
  }
  for (const state of ['can_pair', 'cannot_say'] as const)
    for (const [pairClass, decodes] of alike[state])
      for (const prefill of prefills)
        counts[stateBeforeService(state, channelFrom(prefill, pairClass))] += decodes;
}

/** As `addPlace` counted the pair. */
function stateAcrossHosts(prefill: Entry, decode: Entry): PairState {
  const pairClass = classAcrossHosts(prefill.member.position, decode.member.position);
  return stateBeforeService(judgementOf(prefill, decode).state, channelFrom(prefill, pairClass));
}
