import type { FleetView, GroupView, MemberView } from '../../../core/agreement/view/snapshot.js';
import { PAIR_CLASS_NAMES } from '../../../core/pairs/pair-class-names.js';
import type { PairLookup } from '../../../core/pairs/pair-lookup.js';
import type { PairState } from '../../../core/pairs/pair-words.js';
import { RpcError } from '../../../edge/rpc/errors.js';
import type {
  ListPairsRequest,
  ListPairsResponse,
  Pair,
  PairCounts,
} from '../../../gen/kvaccord/v1/fleet.js';
import { PairState as WireState } from '../../../gen/kvaccord/v1/fleet.js';
import type { FleetRunner } from '../fleet-runner.js';

/** Pairs in one message: with reasons of full length it stays below gRPC's 4 MiB. */
export const MAX_PAIRS_IN_MESSAGE = 1_000;

/** Longest reason of one pair. */
const MAX_REASON_CHARS = 1_024;

const STATES: Readonly<Record<PairState, WireState>> = {
  can_pair: WireState.CAN_PAIR,
  cannot_say: WireState.CANNOT_SAY,
  cannot_pair: WireState.CANNOT_PAIR,
  set_aside: WireState.SET_ASIDE,
};

/** Targets of a group's workers that get requests now; none while its gate is shut. */
export function offeredTargets({ gateOpen, members }: GroupView): ReadonlySet<string> {
  return new Set(
    members.flatMap(({ target, offer }: MemberView) => (gateOpen && offer !== 'none' ? [target] : [])),
  );
}

const MS_PER_SECOND = 1_000;

/** The pairs of a group, and the targets of its workers that get requests. */
export interface GroupPairs {
  readonly group: string;
  readonly pairs: PairLookup;
  readonly offered: ReadonlySet<string>;
}

/** One pair as a message at a monotonic time; undefined where one of the two is no member of its role. */
export function toPair(
  { group, pairs, offered }: GroupPairs,
  prefillTarget: string,
  decodeTarget: string,
  nowMs: number,
): Pair | undefined {
  const verdict = pairs.verdict(prefillTarget, decodeTarget);
  const prefill = pairs.member(prefillTarget);
  const decode = pairs.member(decodeTarget);
  if (verdict === undefined || prefill === undefined || decode === undefined) return undefined;
  const { cost, transfers, failedTransfers, asideUntilMs } = pairs.transfersOf(prefillTarget, decodeTarget);
  return {
    group,
    prefill: { target: prefillTarget, workerId: prefill.workerId, instanceId: prefill.instanceId },
    decode: { target: decodeTarget, workerId: decode.workerId, instanceId: decode.instanceId },
    state: STATES[verdict.state],
    reason: verdict.reason.slice(0, MAX_REASON_CHARS),
    differences: verdict.differences.map((difference) => ({ ...difference })),
    class: PAIR_CLASS_NAMES[verdict.class],
    classEvidence: verdict.classEvidence.slice(0, MAX_REASON_CHARS),
    millisecondsPerMebibyte: cost?.millisecondsPerMebibyte,
    transfers: BigInt(transfers),
    failedTransfers: BigInt(failedTransfers),
    offered: verdict.offered && offered.has(prefillTarget) && offered.has(decodeTarget),
    retryAfterSeconds:
      verdict.state === 'set_aside' && asideUntilMs !== undefined
        ? Math.max(0, Math.ceil((asideUntilMs - nowMs) / MS_PER_SECOND))
        : undefined,
  };
}

/** Where a page ends, as its token has it. */
type Place = readonly [group: string, prefill: string, decode: string];

const FIRST: Place = ['', '', ''];

function placeOf(token: string): Place {
  if (token === '') return FIRST;
  const parts = token.split('\n');
  if (parts.length === 3) return parts as unknown as Place;
  throw new RpcError('invalid_argument', 'page_token is not one that this service gave', {
    reason: 'bad_page_token',
  });
}

/** One page of pairs at a monotonic time, in the order of group, prefill and decode target. */
export function listPairs(runner: FleetRunner, request: ListPairsRequest, nowMs: number): ListPairsResponse {
  const from = placeOf(request.pageToken);
  const pairs: Pair[] = [];
  let nextPageToken = '';
  const counts: PairCounts = { canPair: 0n, cannotSay: 0n, cannotPair: 0n, setAside: 0n };
  for (const view of groupsOf(runner.view, request.group)) {
    const lookup = runner.pairsOf(view.group);
    if (lookup === undefined) continue;
    count(counts, lookup, request);
    if (nextPageToken !== '' || view.group < from[0]) continue;
    const ofGroup = { group: view.group, pairs: lookup, offered: offeredTargets(view) };
    for (const [prefill, decode] of targetsAfter(lookup, request, view.group === from[0] ? from : FIRST)) {
      if (pairs.length === MAX_PAIRS_IN_MESSAGE) {
        const last = pairs.at(-1);
        nextPageToken = [last?.group, last?.prefill?.target, last?.decode?.target].join('\n');
        break;
      }
      const pair = toPair(ofGroup, prefill, decode, nowMs);
      if (pair !== undefined) pairs.push(pair);
    }
  }
  return { pairs, nextPageToken, counts };
}

function groupsOf({ groups }: FleetView, name: string): readonly GroupView[] {
  return groups.filter(({ group }) => name === '' || group === name);
}

function* targetsAfter(
  lookup: PairLookup,
  { prefillTarget, decodeTarget }: ListPairsRequest,
  [, lastPrefill, lastDecode]: Place,
): Generator<readonly [string, string]> {
  const prefills = wanted(lookup.prefillTargets, prefillTarget).filter((target) => target >= lastPrefill);
  const decodes = wanted(lookup.decodeTargets, decodeTarget);
  for (const prefill of prefills) {
    for (const decode of decodes) {
      if (prefill !== lastPrefill || decode > lastDecode) yield [prefill, decode];
    }
  }
}

function wanted(targets: Iterable<string>, only: string): string[] {
  return [...targets].filter((target) => only === '' || target === only).sort();
}

function count(counts: PairCounts, lookup: PairLookup, request: ListPairsRequest): void {
  const add = (state: PairState, by: number): void => {
    if (state === 'can_pair') counts.canPair += BigInt(by);
    else if (state === 'cannot_say') counts.cannotSay += BigInt(by);
    else if (state === 'cannot_pair') counts.cannotPair += BigInt(by);
    else counts.setAside += BigInt(by);
  };
  if (request.prefillTarget === '' && request.decodeTarget === '') {
    for (const [state, by] of Object.entries(lookup.counts)) add(state as PairState, by);
    return;
  }
  for (const [prefill, decode] of targetsAfter(lookup, request, FIRST)) {
    const state = lookup.stateOf(prefill, decode);
    if (state !== undefined) add(state, 1);
  }
}
