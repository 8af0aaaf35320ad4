import { Metadata, type ServiceError, type StatusObject, status } from '@grpc/grpc-js';
import { ErrorInfo, Status } from '../../gen/google/rpc/status.js';
import type { Logger } from '../platform/logger.js';
import type { Random } from '../platform/random.js';

/** Why a call is refused or failed: the closed list. */
export const RPC_ERROR_CODES = [
  'invalid_argument',
  'not_found',
  'unauthenticated',
  'metadata_too_large',
  'too_many_calls',
  'too_many_calls_on_connection',
  'calls_too_fast',
  'too_many_watchers',
  'too_many_messages',
  'draining',
  'unavailable',
  'internal',
] as const;

/** A code of `RpcError`. */
export type RpcErrorCode = (typeof RPC_ERROR_CODES)[number];

/** The gRPC status of each code. */
const STATUS_CODES: Readonly<Record<RpcErrorCode, status>> = {
  invalid_argument: status.INVALID_ARGUMENT,
  not_found: status.NOT_FOUND,
  unauthenticated: status.UNAUTHENTICATED,
  metadata_too_large: status.RESOURCE_EXHAUSTED,
  too_many_calls: status.RESOURCE_EXHAUSTED,
  too_many_calls_on_connection: status.RESOURCE_EXHAUSTED,
  calls_too_fast: status.RESOURCE_EXHAUSTED,
  too_many_watchers: status.RESOURCE_EXHAUSTED,
  too_many_messages: status.RESOURCE_EXHAUSTED,
  draining: status.UNAVAILABLE,
  unavailable: status.UNAVAILABLE,
  internal: status.INTERNAL,
};

/** The `domain` of every `google.rpc.ErrorInfo` that this product sends. */
const ERROR_DOMAIN = 'kvaccord';

/** Trailer in which gRPC carries a serialized `google.rpc.Status`. */
const DETAILS_TRAILER = 'grpc-status-details-bin';

/** Longest text of an error that goes to a peer: trailers have to fit into the peer's header limit (8 KiB). */
const MAX_MESSAGE_CHARS = 1_024;

/** Largest details that are decoded; a peer's header limit would stop larger ones anyway. */
const MAX_DETAILS_BYTES = 16 * 1024;

export interface RpcErrorOptions {
  /**
   * What `ErrorInfo.reason` says; default the code. A caller that has a finer
   * closed list (the gate's reasons) puts its own word here.
   */
  readonly reason?: string;
  /** `ErrorInfo.metadata`: small facts for programs. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** An error whose words and reason are meant for the peer. Everything else stays inside. */
export class RpcError extends Error {
  readonly code: RpcErrorCode;
  readonly reason: string;
  readonly metadata: Readonly<Record<string, string>>;

  constructor(code: RpcErrorCode, message: string, options: RpcErrorOptions = {}) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
    this.reason = options.reason ?? code;
    this.metadata = options.metadata ?? {};
  }
}

/** The gRPC status with `google.rpc.ErrorInfo` that stands for `error` on the wire. */
export function toStatus(error: RpcError): StatusObject {
  const code = STATUS_CODES[error.code];
  const message = fitForTrailer(error.message);
  const info = ErrorInfo.encode({
    reason: error.reason,
    domain: ERROR_DOMAIN,
    metadata: { ...error.metadata },
  }).finish();
  const details = Status.encode({
    code,
    message,
    details: [{ typeUrl: 'type.googleapis.com/google.rpc.ErrorInfo', value: Buffer.from(info) }],
  }).finish();
  const metadata = new Metadata();
  metadata.set(DETAILS_TRAILER, Buffer.from(details));
  return { code, details: message, metadata };
}

/**
 * Makes an `RpcError` of whatever was thrown. What is none already becomes
 * `internal` with a number to look for in the log; its own text never leaves
 * the process.
 */
export function toRpcError(
  thrown: unknown,
  where: string,
  modules: { readonly logger: Logger; readonly random: Random },
): RpcError {
  if (thrown instanceof RpcError) return thrown;
  const correlationId = modules.random.uniqueId();
  modules.logger.error({ error: thrown, call: where, correlationId }, 'A call failed by a fault of our own');
  return new RpcError('internal', `internal error; the server's log has it under ${correlationId}`, {
    metadata: { correlation_id: correlationId },
  });
}

/** Whether a call failed with a status, as grpc-js has it. */
export function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'details' in error;
}

/** A request that asks for what cannot be. */
export function invalidArgument(message: string): RpcError {
  return new RpcError('invalid_argument', message);
}

/** What a server of this product said beside the status. */
export interface PeerReason {
  readonly reason: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Reads the reason out of a failed call; undefined when the peer gave none or it cannot be read. */
export function readPeerReason(error: ServiceError): PeerReason | undefined {
  const raw = error.metadata?.get(DETAILS_TRAILER)[0];
  if (!Buffer.isBuffer(raw) || raw.length > MAX_DETAILS_BYTES) return undefined;
  try {
    for (const detail of Status.decode(raw).details) {
      if (!detail.typeUrl.endsWith('/google.rpc.ErrorInfo')) continue;
      const info = ErrorInfo.decode(detail.value);
      if (info.domain === ERROR_DOMAIN) return { reason: info.reason, metadata: info.metadata };
    }
  } catch {
    // Details of another shape are no reason of ours; the status itself still stands.
  }
  return undefined;
}

/** grpc-js puts the text through `encodeURI`, which throws on half a surrogate pair. */
function fitForTrailer(text: string): string {
  const whole = text.replace(/\p{Surrogate}/gu, '\ufffd');
  return whole.length > MAX_MESSAGE_CHARS
    ? `${whole.slice(0, MAX_MESSAGE_CHARS).replace(/\p{Surrogate}/gu, '')}…`
    : whole;
}
