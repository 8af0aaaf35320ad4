import type { EntryKind } from '../../core/view/view-document.js';

/** Kinds of entries as a reader filters them. */
export const KIND_GROUPS: readonly { readonly name: string; readonly kinds: readonly EntryKind[] }[] = [
  {
    name: 'epochs and gate',
    kinds: ['epoch', 'gate_open', 'gate_shut', 'routing_mode', 'partial', 'model_gone'],
  },
  { name: 'conflicts', kinds: ['conflict', 'conflict_over', 'dissent', 'conforms', 'report_refused'] },
  { name: 'restarts', kinds: ['restarted', 'process_started'] },
  { name: 'ejections', kinds: ['ejected', 'returned'] },
  { name: 'cache views', kinds: ['doubted', 'trusted', 'canary_failed'] },
  { name: 'coming and going', kinds: ['joined', 'left', 'lost', 'back', 'draining'] },
];

const OTHER = 'other';

/** The group of a kind; `other` for kinds that this page does not know. */
export function kindGroupOf(kind: EntryKind): string {
  return KIND_GROUPS.find(({ kinds }) => kinds.includes(kind))?.name ?? OTHER;
}
