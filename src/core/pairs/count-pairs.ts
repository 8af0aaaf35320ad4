import { classAcrossHosts, isSameHost } from './pair-class.js';
import { channelFrom, judgementOf, stateBeforeService, stateOfEntries } from './pair-judge.js';
import type { PairMembers } from './pair-members.js';
import type { Entry } from './pair-role.js';
import type { PairState } from './pair-words.js';
import type { EntryPair } from './pairs-in-service.js';

/** How many pairs there are in each state. */
export type PairCounts = Readonly<Record<PairState, number>>;

/**
 * Counts pairs by state. All of two places are counted together as if each two
 * were on different hosts; then pairs on one host, and those that are set
 * aside, are moved to the state that they have. Costs prefill workers times
 * places of decode workers, and pairs on one host.
 */
export function countPairs(members: PairMembers, aside: Iterable<EntryPair>): PairCounts {
  const counts = { can_pair: 0, cannot_say: 0, cannot_pair: 0, set_aside: 0 };
  for (const { members: ours } of members.prefill.places.values()) {
    for (const { members: theirs } of members.decode.places.values()) addPlaces(counts, ours, theirs);
  }
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

function addPlaces(
  counts: Record<PairState, number>,
  prefills: ReadonlySet<Entry>,
  decodes: ReadonlySet<Entry>,
): void {
  const [ours] = prefills;
  const [theirs] = decodes;
  if (ours === undefined || theirs === undefined) return;
  const { state } = judgementOf(ours, theirs);
  if (state === 'cannot_pair') {
    counts.cannot_pair += prefills.size * decodes.size;
    return;
  }
  const pairClass = classAcrossHosts(ours.member.position, theirs.member.position);
  for (const prefill of prefills)
    counts[stateBeforeService(state, channelFrom(prefill, pairClass))] += decodes.size;
}

/** As `addPlaces` counted the pair. */
function stateAcrossHosts(prefill: Entry, decode: Entry): PairState {
  const pairClass = classAcrossHosts(prefill.member.position, decode.member.position);
  return stateBeforeService(judgementOf(prefill, decode).state, channelFrom(prefill, pairClass));
}
