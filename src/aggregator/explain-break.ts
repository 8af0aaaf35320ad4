import { type ServiceError, status } from '@grpc/grpc-js';
import { describeError } from '../platform/describe-error.js';
import { excerpt } from '../platform/probe-error.js';
import { ConnectError } from '../rpc/connect-error.js';

/** A connection that could not be made, in words; the address is left out, for the worker is named beside it. */
export function explainConnect(error: unknown): string {
  if (!(error instanceof ConnectError)) return describeError(error);
  const prefix = `${error.address}: `;
  return error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message;
}

/** A watch stream that failed, in words that say what to look at. */
export function explainStatus(error: ServiceError): string {
  const said = `${status[error.code] ?? `status ${error.code}`} ${excerpt(error.details)}`;
  switch (error.code) {
    case status.UNIMPLEMENTED:
      return `answers gRPC but is not a kv-accord sidecar (${said}): is it the engine's own port?`;
    case status.UNAUTHENTICATED:
      return `refuses us as unauthenticated (${said}): set --token-file, or --tls-cert and --tls-key, to what the sidecar accepts`;
    case status.PERMISSION_DENIED:
      return `refuses us (${said})`;
    case status.UNAVAILABLE:
      return `the connection broke or the sidecar is going away (${said})`;
    case status.RESOURCE_EXHAUSTED:
      return `a limit was passed (${said})`;
    default:
      return `the watch stream failed (${said})`;
  }
}
