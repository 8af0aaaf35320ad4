import type { CallOptions, ClientUnaryCall, Metadata, ServiceError } from '@grpc/grpc-js';
import { Metadata as MetadataClass } from '@grpc/grpc-js';
import type { Clock } from '../platform/clock.js';
import { onAbort } from '../platform/time/on-abort.js';

/** A unary method of a generated client, bound to it. */
export type UnaryMethod<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: Partial<CallOptions>,
  callback: (error: ServiceError | null, response: Response) => void,
) => ClientUnaryCall;

export interface UnaryOptions {
  readonly clock: Clock;
  /** No call is without a deadline: grpc-js would wait for ever. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** Calls a unary method. Rejects with grpc-js's `ServiceError`, or with `signal.reason`. */
export function callUnary<Request, Response>(
  method: UnaryMethod<Request, Response>,
  request: Request,
  { clock, timeoutMs, signal }: UnaryOptions,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    const deadline = clock.wallMs() + timeoutMs;
    const call = method(request, new MetadataClass(), { deadline }, (error, response) => {
      leave();
      if (error === null) resolve(response);
      else reject(error);
    });
    const leave = onAbort(signal, () => {
      call.cancel();
      reject(signal?.reason);
    });
  });
}
