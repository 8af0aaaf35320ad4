import { workerName } from '../../text/worker-name.js';
import type { Member } from './state.js';

/** A member's one name for people: its worker id with its address beside it; the address alone before its first report. */
export function memberName({ target, report }: Pick<Member, 'target' | 'report'>): string {
  return workerName({ workerId: report?.workerId ?? '', target });
}
