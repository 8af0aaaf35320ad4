import { type ServiceError, status } from '@grpc/grpc-js';
import { describeError } from '../../../edge/platform/describe-error.js';
import { excerpt } from '../../../edge/platform/probe-error.js';
import { ConnectError } from '../../../edge/rpc/connect-error.js';

/** A connection that could not be made, in words; the address is left out, for the worker is named beside it. */
export function explainConnect(error: unknown): string {
  if (!(error instanceof ConnectError)) return describeError(error);
  const prefix = `${error.address}: `;
  return error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message;
}

/** Who answers where a call fails, and what else is often taken for it. */
const PEERS = {
  sidecar: "is it the engine's own port?",
  aggregator: "is it a sidecar's or an engine's port?",
} as const;

/** A call or a watch stream that failed, in words that say what to look at. */
export function explainStatus(error: ServiceError, peer: keyof typeof PEERS = 'sidecar'): string {
  const said = `${status[error.code] ?? `status ${error.code}`} ${excerpt(error.details)}`;
  switch (error.code) {
    case status.UNIMPLEMENTED:
      return `answers gRPC but is not a kv-accord ${peer} (${said}): ${PEERS[peer]}`;
    case status.UNAUTHENTICATED:
      return `refuses us as unauthenticated (${said}): set --token-file, or --tls-cert and --tls-key, to what the ${peer} accepts`;
    case status.PERMISSION_DENIED:
      return `refuses us (${said})`;
    case status.UNAVAILABLE:
      return `the connection broke or the ${peer} is going away (${said})`;
    case status.RESOURCE_EXHAUSTED:
      return `a limit was passed (${said})`;
    default:
      return `the watch stream failed (${said})`;
  }
}
