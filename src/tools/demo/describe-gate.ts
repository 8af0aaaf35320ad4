import type { FleetView, MemberView, Reason } from '../../core/agreement/view/snapshot.js';
import { workerName } from '../../core/text/worker-name.js';

/** The gate in one sentence. */
export interface GateSentence {
  readonly isOpen: boolean;
  /** What it is open with, or why it is shut. */
  readonly text: string;
}

/** Longest explanation of one worker; the whole is in its sidecar's log and in `kv-accord status`. */
const MAX_WHY_CHARS = 60;

/** How the gate of the demo's one model stands, and who gets requests. */
export function describeGate(view: FleetView): GateSentence {
  const [group] = view.groups;
  const members = [...(group?.members ?? []), ...view.unassigned].sort((a, b) =>
    a.target < b.target ? -1 : 1,
  );
  if (group?.gateOpen !== true) {
    const reasons = group?.reasons ?? view.reasons;
    return { isOpen: false, text: reasons.map((reason) => describeReason(reason, members)).join('; ') };
  }
  const parts = [
    `${group.values?.tokens_per_block} tokens per block${group.isOverride ? ' (override)' : ''}, epoch ${group.epoch}`,
    named('in use', members, ({ offer }) => offer === 'full'),
    named('in use without cache knowledge', members, ({ offer }) => offer === 'load_only'),
    named('kept out', members, ({ offer }) => offer === 'none'),
  ];
  return { isOpen: true, text: parts.filter((part) => part !== '').join('; ') };
}

function describeReason({ code, text }: Reason, members: readonly MemberView[]): string {
  switch (code) {
    case 'conflict':
      // The ERROR that came with it says the rest.
      return 'the workers disagree';
    case 'waiting_for_workers': {
      const [count = ''] = text.split(':', 1);
      const missing = members.filter(({ tokensPerBlock }) => tokensPerBlock === undefined);
      return `${count}: ${missing.map((member) => `${workerName(member)} (${shorten(member.reason)})`).join(', ')}`;
    }
    default:
      return text;
  }
}

function shorten(text: string): string {
  return text.length > MAX_WHY_CHARS ? `${text.slice(0, MAX_WHY_CHARS - 1)}…` : text;
}

function named(what: string, members: readonly MemberView[], holds: (member: MemberView) => boolean): string {
  const names = members.filter(holds).map(workerName);
  return names.length === 0 ? '' : `${what}: ${names.join(', ')}`;
}
