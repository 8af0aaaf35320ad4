import type { FleetView, GroupView } from '../../core/agreement/view/snapshot.js';
import { RpcError } from '../../edge/rpc/errors.js';

/** The group that a call asks for; an empty name is the only one there is. Throws an `RpcError`. */
export function findAskedGroup(view: FleetView, name: string): GroupView {
  const { groups, unassigned } = view;
  const group = groups.find((candidate) => candidate.group === name);
  if (group !== undefined) return group;
  const names = groups.map((candidate) => candidate.group).join(', ');
  const [only] = groups;
  if (name === '' && only !== undefined) {
    if (groups.length === 1) return only;
    throw new RpcError('invalid_argument', `the fleet serves several models, name one as "group": ${names}`, {
      reason: 'several_groups',
    });
  }
  if (groups.length === 0 || unassigned.length > 0) {
    const [first] = view.reasons;
    throw new RpcError('unavailable', first?.text ?? 'no worker has reported that model yet', {
      reason: first?.code ?? 'waiting_for_workers',
    });
  }
  throw new RpcError('not_found', `nobody serves "${name.slice(0, 256)}"; the fleet serves ${names}`, {
    reason: 'unknown_group',
  });
}

/** Why a gate is shut, in words. */
export function shutMessage({ group, reasons }: GroupView): string {
  const why = reasons.map(({ text }) => text).join('; ');
  return `the gate of "${group}" is shut: ${why === '' ? 'its epoch is just beginning' : why}`;
}

/** What is said where an epoch has no index. */
export const NO_INDEX_MESSAGE =
  'there is no index in this epoch: its memory could not be had; the log says why';
