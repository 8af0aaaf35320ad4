import type { FleetView, GroupView } from '../../core/agreement/view/snapshot.js';
import type { PairLookup } from '../../core/pairs/pair-lookup.js';
import type { PairMember } from '../../core/pairs/pair-member.js';
import { gigabytesPerSecond, isSlow, promisedGigabytesPerSecond } from '../../core/pairs/transfer-cost.js';
import { shownLine, shownText } from '../../core/view/shown-text.js';
import { VIEW_LIMITS } from '../../core/view/view-document.js';
import {
  PAIR_TONES,
  VIEW_PAIR_STATES,
  type ViewPair,
  type ViewPairGroup,
  type ViewPairs,
} from '../../core/view/view-pairs.js';
import { offeredTargets } from '../aggregator/service/pair-pages.js';

/** Workers of each role up to which all pairs are shown. */
const MAX_OF_ROLE = 12;
/** Pairs of one larger model that are shown. */
const MAX_WORST = 200;
/** Pairs of it that are looked at: some milliseconds. */
const MAX_LOOKED_AT = 20_000;

export interface ViewPairsModules {
  readonly view: FleetView;
  pairsOf(group: string): PairLookup | undefined;
  /** Monotonic milliseconds, as the pairs have them. */
  readonly nowMs: number;
}

/** The pairs of all models that have both roles. */
export function viewPairs({ view, pairsOf, nowMs }: ViewPairsModules): ViewPairs {
  const groups = view.groups.flatMap((group) => {
    const pairs = pairsOf(group.group);
    const isSplit = pairs !== undefined && pairs.prefillCount > 0 && pairs.decodeCount > 0;
    return isSplit ? [groupOf(group, pairs, nowMs)] : [];
  });
  return { groups: groups.slice(0, VIEW_LIMITS.models) };
}

function groupOf(group: GroupView, pairs: PairLookup, nowMs: number): ViewPairGroup {
  const { prefillCount, decodeCount, counts } = pairs;
  const isWhole = prefillCount <= MAX_OF_ROLE && decodeCount <= MAX_OF_ROLE;
  const offered = offeredTargets(group);
  const rows = [...(isWhole ? all(pairs) : worst(pairs))].flatMap(
    ([prefill, decode]) => pairOf({ pairs, offered }, prefill, decode, nowMs) ?? [],
  );
  return {
    group: shownLine(group.group),
    ...{ prefillCount, decodeCount, counts, isWhole },
    pairs: rows.sort(isWhole ? byName : (a, b) => rankOf(a) - rankOf(b)),
  };
}

/** `prefill-2` before `prefill-10`. */
function byName(a: ViewPair, b: ViewPair): number {
  return NAMES.compare(a.prefill, b.prefill) || NAMES.compare(a.decode, b.decode);
}

const NAMES = new Intl.Collator('en', { numeric: true });

function rankOf({ state }: ViewPair): number {
  return VIEW_PAIR_STATES.indexOf(state);
}

type Targets = readonly [prefill: string, decode: string];

function* all({ prefillTargets, decodeTargets }: PairLookup): Generator<Targets> {
  const decodes = [...decodeTargets].sort();
  for (const prefill of [...prefillTargets].sort()) for (const decode of decodes) yield [prefill, decode];
}

/** Those that a person may have to act on: all that are set aside, and others as far as they are among the first that are looked at. */
function* worst(pairs: PairLookup): Generator<Targets> {
  let [lookedAt, found] = [0, 0];
  for (const targets of pairs.setAside) {
    if (found === MAX_WORST) return;
    found += 1;
    yield targets;
  }
  for (const [prefill, decode] of all(pairs)) {
    lookedAt += 1;
    if (found === MAX_WORST || lookedAt > MAX_LOOKED_AT) return;
    const state = pairs.stateOf(prefill, decode);
    if (state === 'set_aside' || (state === 'can_pair' && !isSlowPair(pairs, prefill, decode))) continue;
    found += 1;
    yield [prefill, decode];
  }
}

/** In a matrix there is room for a name alone. */
function nameOf({ workerId, target }: PairMember): string {
  return shownLine(workerId === '' ? target : workerId);
}

function isSlowPair(pairs: PairLookup, prefill: string, decode: string): boolean {
  if (Number.isNaN(pairs.millisecondsPerMebibyte(prefill, decode))) return false;
  return isSlow(pairs.classOf(prefill, decode), pairs.transfersOf(prefill, decode).cost);
}

function pairOf(
  { pairs, offered }: { readonly pairs: PairLookup; readonly offered: ReadonlySet<string> },
  prefillTarget: string,
  decodeTarget: string,
  nowMs: number,
): ViewPair | undefined {
  const verdict = pairs.verdict(prefillTarget, decodeTarget);
  const [prefill, decode] = [pairs.member(prefillTarget), pairs.member(decodeTarget)];
  if (verdict === undefined || prefill === undefined || decode === undefined) return undefined;
  const { state, class: pairClass } = verdict;
  const { cost, transfers, failedTransfers, asideUntilMs } = pairs.transfersOf(prefillTarget, decodeTarget);
  const promisedGbPerS = promisedGigabytesPerSecond(pairClass);
  const slow = isSlow(pairClass, cost);
  return {
    prefillTarget: shownLine(prefillTarget),
    decodeTarget: shownLine(decodeTarget),
    prefill: nameOf(prefill),
    decode: nameOf(decode),
    state,
    tone: slow && state === 'can_pair' ? 'warn' : PAIR_TONES[state],
    class: pairClass,
    classEvidence: shownLine(verdict.classEvidence, VIEW_LIMITS.whyChars),
    why: shownText(verdict.reason, VIEW_LIMITS.whyChars),
    isOffered: verdict.offered && offered.has(prefillTarget) && offered.has(decodeTarget),
    ...{ transfers, failedTransfers },
    ...(cost === undefined
      ? {}
      : {
          msPerMib: cost.millisecondsPerMebibyte,
          gbPerS: gigabytesPerSecond(cost.millisecondsPerMebibyte),
        }),
    ...(promisedGbPerS === undefined ? {} : { promisedGbPerS }),
    ...(slow ? { isSlow: true } : {}),
    ...(asideUntilMs === undefined ? {} : { retryInMs: Math.max(0, Math.round(asideUntilMs - nowMs)) }),
  };
}
