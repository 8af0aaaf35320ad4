import { SnapshotError } from '../../app/fleet-snapshot.js';
import { ConnectError } from '../../edge/rpc/connect-error.js';

/** Whether an error says why an aggregator or sidecar was not reached or gave no answer, which an operator reads in one line. */
export function isConnectionProblem(error: unknown): error is SnapshotError | ConnectError {
  return error instanceof SnapshotError || error instanceof ConnectError;
}
