import { decides } from '../state/judgement.js';
import { memberName } from '../state/member-name.js';
import type { Group, Member } from '../state/state.js';

/** The worker whose engine publishes where the events of `member` are read; undefined where none is known. */
export function ownerOfEvents(group: Group, member: Member): Member | undefined {
  const readAt = member.report?.misreadEvents?.readAt;
  if (readAt === undefined) return undefined;
  let first: Member | undefined;
  for (const other of group.members.values()) {
    if (other === member || !decides(other)) continue;
    if (other.report?.eventEndpoints.includes(readAt) !== true) continue;
    if (first === undefined || other.target < first.target) first = other;
  }
  return first;
}

/** V6: where events are read, where the engine publishes them, whose they are then, and the cure; empty where nothing is wrong. */
export function misreadMessage(group: Group, member: Member): string {
  const misread = member.report?.misreadEvents;
  if (misread === undefined) return '';
  const { readAt, saidAt, origin } = misread;
  const owner = ownerOfEvents(group, member);
  const whose =
    owner === undefined
      ? 'unless a port is mapped between them, these are the events of another engine'
      : `these are the events of another engine, that of worker ${memberName(owner)}`;
  return `its KV events are read at ${readAt}, but its engine publishes them at ${saidAt} (${origin}): ${whose}. Correct --kv-event-sources, or leave it out`;
}
