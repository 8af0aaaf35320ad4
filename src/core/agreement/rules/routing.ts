import { worseCacheView } from '../../contract/wire/cache-view.js';
import { andMore } from '../../text/lists.js';
import { misreadMessage, ownerOfEvents } from '../messages/event-source-messages.js';
import { remarkedDifference, tokenDifferenceMessage } from '../messages/token-messages.js';
import type { CacheKnowledge, RoutingMode } from '../state/cache-knowledge-counts.js';
import { offerOf } from '../state/judgement.js';
import { memberName } from '../state/member-name.js';
import type { AgreementState, Group, Member } from '../state/state.js';
import type { Step } from '../state/step.js';

/** What the index said of the present instance of a member; undefined while it has said nothing, or may hold nothing. */
export function cacheViewOf(state: AgreementState, member: Member): Member['cacheView'] {
  const { cacheView, doubt, held, report } = member;
  const present = report?.instanceId;
  if (cacheView?.instanceId !== present || held !== present) return undefined;
  if (cacheView === undefined) return undefined;
  const known = worsenedByReport(state, member, cacheView);
  // What is not known at all, or not any more, cannot be contradicted.
  const isDoubted = doubt?.instanceId === present && worseCacheView(known.level, 'doubted') === 'doubted';
  if (doubt === undefined || !isDoubted) return known;
  const reason = known.reason === '' ? doubt.reason : `${doubt.reason} (${known.reason})`;
  return { ...known, level: 'doubted', reason };
}

/** A cache view that would be exact, and is not by what reports say of its worker. */
function worsenedByReport(
  state: AgreementState,
  member: Member,
  cacheView: NonNullable<Member['cacheView']>,
): NonNullable<Member['cacheView']> {
  const { report, group } = member;
  if (group === undefined) return cacheView;
  // V6: what is known of its blocks is of another engine.
  const isBetter = worseCacheView(cacheView.level, 'doubted') === 'doubted';
  if (isBetter && report?.misreadEvents !== undefined && ownerOfEvents(group, member) !== undefined)
    return { ...cacheView, level: 'doubted', reason: misreadMessage(group, member) };
  // A13: its blocks are known; what requests are made into is not the same for all.
  const field = cacheView.level === 'exact' ? remarkedDifference(state, member) : undefined;
  if (field === undefined) return cacheView;
  return {
    ...cacheView,
    level: 'approximate',
    reason: `it ${tokenDifferenceMessage(group, member, field)}`,
  };
}

/** Counts a member among the offered ones of its group, by what is known of its cache. */
export function countCacheKnowledge(state: AgreementState, member: Member): void {
  member.group?.cacheKnowledge.set(member, cacheKnowledgeOf(state, member));
}

function cacheKnowledgeOf(state: AgreementState, member: Member): CacheKnowledge | undefined {
  const offer = offerOf(state, member);
  if (offer === 'none') return undefined;
  const cacheView = offer === 'full' ? cacheViewOf(state, member)?.level : undefined;
  if (cacheView === undefined || cacheView === 'none') return 'unknown';
  // What a lost worker stores and evicts is not heard: what was exact is so no longer (G5).
  return cacheView === 'exact' && member.lostSinceMs === undefined ? 'exact' : 'partial';
}

function modeOf(state: AgreementState, group: Group): RoutingMode {
  if (group.phase.state !== 'agreed') return 'closed';
  const { offered, exact, partial } = group.cacheKnowledge;
  if (offered === 0) return 'load_only';
  if (state.options.kvEvents === 'approximate') return 'approximate';
  if (exact === offered) return 'exact';
  return exact + partial > 0 ? 'mixed' : 'load_only';
}

/** G7: a change of mode is logged once, with its reason. */
export function updateMode(step: Step, group: Group): void {
  const { state, effects } = step;
  const mode = modeOf(state, group);
  if (mode === group.mode) return;
  group.mode = mode;
  state.version += 1;
  if (state.options.kvEvents === 'unused') return;
  effects.push({
    type: 'log',
    level: 'info',
    code: 'routing_mode',
    group: group.name,
    message: `Routing mode of "${group.name}" is now ${mode}: ${modeMessage(state, group, group.cacheKnowledge.inexact)}.`,
  });
}

/** Why the mode is what it is; `inexact` are the offered members to name, in the order to name them. */
export function modeMessage(state: AgreementState, group: Group, inexact: Iterable<Member>): string {
  const { offered } = group.cacheKnowledge;
  switch (group.mode) {
    case 'closed':
      if (group.members.size === 0) return 'nobody serves the model';
      return group.phase.state === 'conflict' ? 'the workers are in conflict' : 'nothing is agreed yet';
    case 'approximate':
      return 'caches are guessed from what was sent where';
    case 'exact':
      return 'the cache view of every offered worker is exact';
    default:
      if (offered === 0) return 'the gate is open, and no worker can be offered';
      return group.mode === 'mixed'
        ? `not exact: ${nameInexact(state, group, inexact)}`
        : `the gate is open, and ${noCacheViewMessage(state, group, inexact)}`;
  }
}

function noCacheViewMessage(state: AgreementState, group: Group, inexact: Iterable<Member>): string {
  const held = 'no cache view is held here';
  const first = firstOf(inexact, MAX_NAMED);
  // Where no cache view was reported, as where there is no index, there is nothing to say of each.
  return first.every((member) => whyInexact(state, member) === NO_CACHE_VIEW)
    ? held
    : `${held}: ${nameInexact(state, group, first)}`;
}

/** Never walks all of a large fleet. */
function firstOf(members: Iterable<Member>, count: number): Member[] {
  const first: Member[] = [];
  for (const member of members) {
    if (first.length >= count) break;
    first.push(member);
  }
  return first;
}

function nameInexact(state: AgreementState, group: Group, inexact: Iterable<Member>): string {
  const named = firstOf(inexact, MAX_NAMED).map(
    (member) => `${memberName(member)} (${whyInexact(state, member)})`,
  );
  const rest = group.cacheKnowledge.inexact.size - named.length;
  return `${named.join(', ')}${andMore(rest)}`;
}

/** Members that a reason names. */
const MAX_NAMED = 10;
const NO_CACHE_VIEW = 'no cache view yet';

function whyInexact(state: AgreementState, member: Member): string {
  if (offerOf(state, member) === 'load_only') return 'offered without cache knowledge';
  if (member.lostSinceMs !== undefined) return 'its sidecar is lost';
  const cacheView = cacheViewOf(state, member);
  if (cacheView === undefined) return NO_CACHE_VIEW;
  return cacheView.reason === '' ? cacheView.level : `${cacheView.level}: ${cacheView.reason}`;
}
