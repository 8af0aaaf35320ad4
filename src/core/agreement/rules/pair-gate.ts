import { missingRoleMessage, noPairMessage, noUsablePairMessage } from '../messages/pair-messages.js';
import type { AgreementState, Group } from '../state/state.js';

/** P3: whether a group has what it needs to split requests. */
export type PairNeed =
  /** Its gate does not wait for pairs, or one can work. */
  | { readonly state: 'served' }
  /** Something is missing that may come. */
  | { readonly state: 'waiting'; readonly code: 'waiting_for_role' | 'no_pair'; readonly text: () => string }
  /** Both roles are there, and no pair can ever work as they are set up. */
  | { readonly state: 'incompatible'; readonly substance: string; readonly message: () => string };

const SERVED: PairNeed = { state: 'served' };

/**
 * P3: a group that has workers for one part of a request alone needs one of
 * each part, and a pair that can work. Workers that serve whole requests need
 * none, and open the gate by themselves.
 */
export function pairNeed({ options }: AgreementState, group: Group): PairNeed {
  const { pairs, tallies } = group;
  const inPairs = pairs.prefillCount + pairs.decodeCount;
  if (inPairs === 0 || inPairs < tallies.deciding || options.pairPolicy === 'report') return SERVED;
  for (const role of ['prefill', 'decode'] as const) {
    const count = role === 'prefill' ? pairs.prefillCount : pairs.decodeCount;
    if (count === 0)
      return { state: 'waiting', code: 'waiting_for_role', text: () => missingRoleMessage(group, role) };
  }
  if (pairs.hasWorkablePair) return SERVED;
  for (const target of pairs.prefillTargets) {
    if (!pairs.hasNoPartner(target))
      return { state: 'waiting', code: 'no_pair', text: () => noUsablePairMessage(group) };
  }
  const message = (): string => noPairMessage(group);
  return { state: 'incompatible', substance: message(), message };
}
