import { type ChannelOptions, Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { type Clock, systemClock } from '../platform/clock.js';
import { excerpt, ProbeError } from '../platform/probe-error.js';
import { watchDeadline } from '../platform/time/deadline.js';
import { preflightHttp2 } from './http2-preflight.js';

/** Calls one unary method of an engine's own gRPC; bounded in time. Rejects with a `ProbeError`. */
export interface EngineRpc {
  call<Request, Response>(
    address: string,
    method: {
      readonly path: string;
      readonly requestSerialize: (value: Request) => Buffer;
      readonly responseDeserialize: (value: Buffer) => Response;
    },
    request: Request,
    options: { readonly signal: AbortSignal },
  ): Promise<Response>;
}

export interface EngineRpcOptions {
  /** Milliseconds until HTTP/2 stands. Default 2,000. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds for the whole call. Default 5,000. */
  readonly totalTimeoutMs?: number;
}

const CONNECT_TIMEOUT_MS = 2_000;
const TOTAL_TIMEOUT_MS = 5_000;

/** Largest message that is taken; SGLang's server info, the largest real one, has 20 KiB. */
const MAX_MESSAGE_BYTES = 1024 * 1024;

const CHANNEL_OPTIONS: ChannelOptions = {
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  // Without a pool of its own, closing this client would leave a shared connection behind.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_channelz': 0,
  'grpc.enable_retries': 0,
  // The engine is beside the sidecar; a proxy of the environment is not on the way to it.
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
};

/** `gRPC 127.0.0.1:50051/vllm.Control/GetServerInfo`: a method as reports and messages name it. */
function calledMethod(address: string, path: string): string {
  return `gRPC ${address}${path}`;
}

/**
 * Makes the caller of engines' own gRPC, which is plaintext in all of them.
 * Each call has a client of its own that is closed after it.
 *
 * grpc-js has no connect time-out: with a peer that accepts TCP and never
 * speaks HTTP/2 a call without a deadline lasts for ever (grpc-node#2785), and
 * closing its client leaves the connection behind. So each call begins with a
 * preflight, and a timer watches the rest; it stands in for grpc-js's own
 * deadline, which is a point on the wall clock and moves when that is stepped.
 */
export function createEngineRpc(
  options: EngineRpcOptions = {},
  modules: { readonly clock: Clock } = { clock: systemClock },
): EngineRpc {
  const connectTimeoutMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  const totalTimeoutMs = options.totalTimeoutMs ?? TOTAL_TIMEOUT_MS;
  return {
    async call(address, method, request, { signal }) {
      const origin = calledMethod(address, method.path);
      const startMs = modules.clock.monotonicMs();
      const givenUp = (): ProbeError =>
        new ProbeError('timeout', origin, 'given up: the time of this probe round is over');
      if (signal.aborted) throw givenUp();
      const preflight = await preflightHttp2(address, { timeoutMs: connectTimeoutMs, signal }, modules);
      switch (preflight.type) {
        case 'aborted':
          throw givenUp();
        case 'no_connection':
          throw new ProbeError('no_connection', origin, `no connection within ${connectTimeoutMs} ms`);
        case 'timeout':
          throw new ProbeError('timeout', origin, `no HTTP/2 connection within ${connectTimeoutMs} ms`);
        case 'failed':
          throw new ProbeError('unreachable', origin, preflight.message);
        case 'ready':
      }
      if (signal.aborted) throw givenUp();
      return new Promise((resolve, reject) => {
        const client = new Client(address, credentials.createInsecure(), CHANNEL_OPTIONS);
        const end = (): void => {
          stopWatching();
          client.close();
        };
        const fail = (error: ProbeError): void => {
          end();
          call.cancel();
          reject(error);
        };
        const remainingMs = totalTimeoutMs - (modules.clock.monotonicMs() - startMs);
        const stopWatching = watchDeadline({ timeoutMs: remainingMs, signal }, modules, (why) =>
          fail(
            why === 'aborted'
              ? givenUp()
              : new ProbeError('timeout', origin, `no answer within ${totalTimeoutMs} ms`),
          ),
        );
        const call = client.makeUnaryRequest(
          method.path,
          method.requestSerialize,
          method.responseDeserialize,
          request,
          (error, response) => {
            end();
            // A promise that the timer rejected before stays as it is.
            if (error !== null) reject(fromStatus(error, origin));
            else if (response === undefined)
              reject(new ProbeError('bad_answer', origin, 'an answer without a message'));
            else resolve(response);
          },
        );
      });
    },
  };
}

function fromStatus(error: ServiceError, origin: string): ProbeError {
  const said = `${status[error.code] ?? error.code} ${excerpt(error.details)}`;
  switch (error.code) {
    case status.UNIMPLEMENTED:
      return new ProbeError('not_here', origin, `the engine has no such method (${said})`);
    case status.UNAVAILABLE:
      // HTTP/2 was there a moment ago, so it is the engine that is not.
      return new ProbeError('not_ready', origin, `the engine is not ready (${said})`);
    case status.DEADLINE_EXCEEDED:
      return new ProbeError('timeout', origin, said);
    case status.RESOURCE_EXHAUSTED:
      if (error.details.includes('larger than max')) {
        return new ProbeError(
          'too_large',
          origin,
          `answers more than ${MAX_MESSAGE_BYTES} bytes; the rest was not read`,
        );
      }
      return new ProbeError('not_ready', origin, said);
    default:
      return new ProbeError('bad_answer', origin, said);
  }
}
