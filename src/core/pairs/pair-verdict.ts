import type { TransferField, TransferSideChannel } from '../contract/transfer/transfer.js';
import { classOfPair } from './pair-class.js';
import { classOfEntries, judgementOf, mayUseEntries, stateOfEntries } from './pair-judge.js';
import { entryName } from './pair-names.js';
import type { Entry } from './pair-role.js';
import type { PairDifference, PairPolicy, PairState, PairVerdict } from './pair-words.js';

/** All of one pair, for people. */
export function verdictOf(prefill: Entry, decode: Entry, policy: PairPolicy): PairVerdict {
  const { class: pairClass, evidence } = classOfPair(prefill.member.position, decode.member.position);
  const state = stateOfEntries(prefill, decode);
  const differences = differencesOf(prefill, decode);
  return {
    state,
    offered: mayUseEntries(prefill, decode, policy),
    class: pairClass,
    classEvidence: evidence,
    reason: reasonOf(prefill, decode, state, differences),
    differences,
  };
}

function differencesOf(prefill: Entry, decode: Entry): readonly PairDifference[] {
  return judgementOf(prefill, decode).differences.map((difference) => ({
    ...difference,
    prefillOrigin: originOf(prefill, difference.field),
    decodeOrigin: originOf(decode, difference.field),
  }));
}

function reasonOf(
  prefill: Entry,
  decode: Entry,
  state: PairState,
  differences: readonly PairDifference[],
): string {
  if (state === 'can_pair') return '';
  if (state === 'set_aside') {
    return `it failed in service: ${prefill.service.get(decode)?.lastFailure ?? ''}`;
  }
  const judgement = judgementOf(prefill, decode);
  const differing = differences.map((difference) => differenceText(difference, prefill, decode));
  const own = [...differing, ...(judgement.reason === '' ? [] : [judgement.reason])].join('; ');
  if (judgement.state === 'cannot_pair') return own;
  const channel = channelReason(prefill, decode);
  return [own, channel].filter((text) => text !== '').join('; ');
}

function channelReason(prefill: Entry, decode: Entry): string {
  const { sideChannels } = prefill.member;
  const dead = sideChannels.find(({ state }) => state === 'silent' || state === 'unreachable');
  if (dead !== undefined) return deadChannelText(prefill, dead);
  const answer = prefill.channel.get(classOfEntries(prefill, decode));
  const at = sideChannels[0]?.address ?? '';
  switch (answer?.state) {
    case 'reachable':
      return '';
    case 'pending':
      return `whether the side channel ${at} can be reached from ${entryName(decode)} is being asked`;
    case 'unreachable':
      return `the side channel ${answer.address ?? at} of ${entryName(prefill)} cannot be reached from where ${entryName(decode)} is: ${answer.reason}`;
    case 'unknown':
      return `whether the side channel ${at} can be reached is not known: ${answer.reason}`;
    default:
      return at === ''
        ? `${entryName(prefill)} names no side channel`
        : `nobody has asked yet whether the side channel ${at} can be reached`;
  }
}

/** Of a field by its path; values outside `transfer` have none here. */
function originOf({ member }: Entry, field: string): string {
  return member.origins[field.replace(/^transfer\./, '') as TransferField] ?? '';
}

function deadChannelText(prefill: Entry, { address, state, reason }: TransferSideChannel): string {
  const found = state === 'silent' ? 'accepts connections and answers nothing' : 'cannot be reached';
  return `the side channel ${address} of ${entryName(prefill)} ${found}${reason === '' ? '' : `: ${reason}`}`;
}

/** `dtype: bfloat16 (prefill-0) against float16 (decode-1), from GET http://…/server_info`. */
function differenceText(difference: PairDifference, prefill: Entry, decode: Entry): string {
  const { field, prefillValue, decodeValue, prefillOrigin, decodeOrigin } = difference;
  const name = field.replace(/^transfer\./, '');
  const origins = [...new Set([prefillOrigin, decodeOrigin].filter((origin) => origin !== ''))].join(' and ');
  const from = origins === '' ? '' : `, from ${origins}`;
  return `${name}: ${shortValue(prefillValue)} (${entryName(prefill)}) against ${shortValue(decodeValue)} (${entryName(decode)})${from}`;
}

/** A hash needs no more than what distinguishes it for people. */
function shortValue(value: string): string {
  return /^[0-9a-f]{40,}$/.test(value) ? `${value.slice(0, 12)}…` : value;
}
