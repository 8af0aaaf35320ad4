import type { WorkerPosition } from '../contract/topology/worker-position.js';
import type { TransferField, TransferSideChannel } from '../contract/transfer/transfer.js';
import type { WorkerReport } from '../contract/worker-report.js';
import { type TransferProfile, transferProfileOf } from './transfer-profile.js';

/** A worker of one of the two roles, as its report shows it. */
export interface PairMember {
  /** Where discovery lists it. */
  readonly target: string;
  readonly workerId: string;
  readonly instanceId: string;
  readonly role: 'prefill' | 'decode';
  readonly profile: TransferProfile;
  readonly sideChannels: readonly TransferSideChannel[];
  /** Where the values of its transfer contract came from: `GET http://…/server_info`. */
  readonly origins: Readonly<Partial<Record<TransferField, string>>>;
  readonly position: WorkerPosition;
}

/** Of a checked report; undefined for a worker that serves whole requests. */
export function pairMemberOf(target: string, report: WorkerReport): PairMember | undefined {
  const { role } = report.serving;
  if (role !== 'prefill' && role !== 'decode') return undefined;
  return {
    target,
    workerId: report.workerId,
    instanceId: report.instanceId,
    role,
    profile: transferProfileOf(report),
    sideChannels: report.transfer?.sideChannels ?? [],
    origins: report.transfer?.origins ?? {},
    position: report.position,
  };
}
