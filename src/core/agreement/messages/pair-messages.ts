import type { PairVerdict } from '../../pairs/pair-words.js';
import { clip, countOf, nameSome } from '../../text/lists.js';
import { decides } from '../state/judgement.js';
import { memberName } from '../state/member-name.js';
import type { Group, Member } from '../state/state.js';

/** Pairs that one message explains. */
const MAX_PAIRS_NAMED = 5;

/** Longest part that one pair has in a message. */
const MAX_PAIR_CHARS = 1_024;

/** How an operator gives both roles the same value of a field; others by their names. */
const SETTINGS: Readonly<Record<string, string>> = {
  'transfer.compatibility_hash': 'version and settings of the engine',
  'model.revision': 'revision of the model',
  'transfer.layer_count': 'model',
  'transfer.kv_head_count': 'model',
  'transfer.head_size': 'model',
  'engine.version': 'version of the engine',
  'transfer.connector_version': 'version of the connector',
};

/** What would make pairs work, by what differs; the hash needs no word where the field that it covers is named. */
function cureOf(verdicts: readonly PairVerdict[]): string {
  const fields = new Set(verdicts.flatMap(({ differences }) => differences.map(({ field }) => field)));
  if (fields.size > 1) fields.delete('transfer.compatibility_hash');
  if (fields.size === 0) return '';
  const words = [...fields].map((field) => SETTINGS[field] ?? field.replace(/^transfer\./, ''));
  return ` To fix it, run prefill and decode workers with the same ${nameSome([...new Set(words)])}.`;
}

/** P5: why a worker has none to exchange KV blocks with, and what to change. */
export function noPartnerMessage(group: Group, member: Member): string {
  const miss = group.pairs.nearestMiss(member.target);
  const isPrefill = member.report?.serving.role === 'prefill';
  const [others, fate] = isPrefill ? ['decode', 'hand its KV blocks to'] : ['prefill', 'take KV blocks from'];
  const why = miss === undefined || miss.reason === '' ? '' : `: ${clip(miss.reason, MAX_PAIR_CHARS)}`;
  return `Worker ${memberName(member)} can ${fate} no ${others} worker of "${group.name}"${why}. It is quarantined: it gets no requests.${miss === undefined ? '' : cureOf([miss])}`;
}

/** P3: why no pair of a group can ever work as its workers are, and what to change. */
export function noPairMessage(group: Group): string {
  const verdicts = group.pairs.samples(MAX_PAIRS_NAMED);
  return [
    `No prefill worker of "${group.name}" can hand its KV blocks to a decode worker; the gate stays shut.`,
    ...verdicts.map(({ reason }) => `  ${clip(reason, MAX_PAIR_CHARS)}`),
    cureOf(verdicts).trim(),
  ]
    .filter((line) => line !== '')
    .join('\n');
}

/** P3: `prefill: 0 of 2 workers can be used: …`; `decode: no worker has reported` where none is known. */
export function missingRoleMessage(group: Group, role: 'prefill' | 'decode'): string {
  const known = [...group.members.values()]
    .filter((member) => member.report?.serving.role === role && !decides(member))
    .sort((a, b) => (a.target < b.target ? -1 : 1));
  if (known.length === 0) return `${role}: no worker has reported`;
  const named = known.map((member) =>
    member.problem === '' ? memberName(member) : `${memberName(member)} (${member.problem})`,
  );
  return `${role}: 0 of ${countOf(known.length, 'worker')} can be used: ${nameSome(named)}`;
}

/** P3: why no pair may be used at present. */
export function noUsablePairMessage(group: Group): string {
  const { prefillCount, decodeCount } = group.pairs;
  const verdicts = group.pairs.samples(MAX_PAIRS_NAMED);
  const reasons = verdicts.map(({ reason }) => clip(reason, MAX_PAIR_CHARS));
  return `none of the pairs of ${countOf(prefillCount, 'prefill worker')} and ${countOf(decodeCount, 'decode worker')} can be used: ${[...new Set(reasons)].join('; ')}`;
}
