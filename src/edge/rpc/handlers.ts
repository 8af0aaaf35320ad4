import type {
  handleBidiStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
  ServerUnaryCall,
  ServerWritableStream,
} from '@grpc/grpc-js';
import type { Clock } from '../platform/clock.js';
import type { Logger } from '../platform/logger.js';
import type { Random } from '../platform/random.js';
import { toRpcError, toStatus } from './errors.js';
import { type OpenStreams, ServerStream, type ServerStreamOptions } from './server-stream.js';

/** What handlers need of the server that they are on; `RpcServer.edge`. */
export interface RpcEdge {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: Random;
  readonly streams: OpenStreams;
}

/** What a unary handler may know of its call beside the request. */
export interface CallContext {
  /** Aborted when the caller has gone or its deadline has passed. */
  readonly signal: AbortSignal;
  /** Address and port of the caller, `unknown` on a Unix socket. */
  readonly peer: string;
}

/**
 * Makes a grpc-js handler of a function. It may throw or reject: an `RpcError`
 * goes to the caller, anything else becomes `internal` and is logged.
 */
export function wrapUnary<Request, Response>(
  edge: RpcEdge,
  handler: (request: Request, context: CallContext) => Response | Promise<Response>,
): handleUnaryCall<Request, Response> {
  return (call, callback) => {
    const gone = new AbortController();
    call.once('cancelled', () => gone.abort());
    void answer(call, gone.signal).then(
      (response) => callback(null, response),
      (error: unknown) => callback(toStatus(toRpcError(error, call.getPath(), edge))),
    );
  };

  async function answer(call: ServerUnaryCall<Request, Response>, signal: AbortSignal): Promise<Response> {
    return handler(call.request, { signal, peer: call.getPeer() });
  }
}

/**
 * Makes a grpc-js handler of a function that sends on a `ServerStream`. The
 * stream stays open when the function returns, for watches outlive it; it ends
 * by `stream.end()`, by the peer, by a drain, or by an error that the function throws.
 */
export function wrapServerStream<Request, Message>(
  edge: RpcEdge,
  options: ServerStreamOptions<Message>,
  handler: (request: Request, stream: ServerStream<Message>) => void | Promise<void>,
): handleServerStreamingCall<Request, Message> {
  return (call) => {
    const stream = new ServerStream<Message>(call, options, edge);
    void run(call, stream).catch((error: unknown) => {
      if (stream.isOpen) stream.end(toRpcError(error, call.getPath(), edge));
    });
  };

  async function run(
    call: ServerWritableStream<Request, Message>,
    stream: ServerStream<Message>,
  ): Promise<void> {
    await handler(call.request, stream);
  }
}

/** The receiving side of a stream on which both sides send. */
export interface MessageReader<Request> {
  /** Takes the next message. What it throws ends the stream: an `RpcError` goes to the caller. */
  take(request: Request): void;
}

/**
 * Makes a grpc-js handler of a function that sends on a `ServerStream`, and
 * comes back with the reader of what the caller sends. The stream ends as one
 * of `wrapServerStream`, and when the caller has nothing more to send.
 */
export function wrapDuplexStream<Request, Message>(
  edge: RpcEdge,
  options: ServerStreamOptions<Message>,
  handler: (stream: ServerStream<Message>) => MessageReader<Request>,
): handleBidiStreamingCall<Request, Message> {
  return (call) => {
    const stream = new ServerStream<Message>(call, options, edge);
    const guard = (run: () => void): void => {
      try {
        run();
      } catch (error) {
        stream.end(toRpcError(error, call.getPath(), edge));
      }
    };
    guard(() => {
      const reader = handler(stream);
      call.on('data', (request: Request) => {
        // What was on its way when the stream ended is not handled.
        if (stream.isOpen) guard(() => reader.take(request));
      });
      call.once('end', () => stream.end());
    });
  };
}
