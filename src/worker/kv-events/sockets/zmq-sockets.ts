import type { ZmqSource } from '../../../core/relay/rank-source.js';
import type { Logger } from '../../../edge/platform/logger.js';

/** The frames of one multipart message. */
export type Frames = readonly Uint8Array[];

/** A stream of messages that comes until it is closed. */
export interface Subscription {
  /** The next message; undefined when it was closed. One call at a time. */
  receive(): Promise<Frames | undefined>;
  /** Harmless when it is closed. */
  close(): void;
}

/** One conversation with a replay socket. */
export interface ReplaySocket extends Subscription {
  send(frames: readonly (Uint8Array | string)[]): Promise<void>;
}

/** Opens sockets. Tests give one that has none. */
export interface Sockets {
  /** `onLink` is called when the publisher is reached (true) and when it is lost (false). Rejects when the address is not usable. */
  subscribe(source: ZmqSource, onLink: (isUp: boolean) => void): Promise<Subscription>;
  /** Throws when the address is not usable. */
  ask(endpoint: string): ReplaySocket;
}

export interface ZmqSocketsOptions {
  /**
   * Largest frame in bytes; a publisher that announces more is disconnected.
   * Default 32 MiB: a batch, which is one frame, has the tokens of one engine step, some hundred
   * KiB at most. libzmq has no bound for the frames of one message, and keeps them all until the last one has come.
   */
  readonly maxMessageBytes?: number;
  /** Live messages that wait while others are applied; more are lost and replayed. Default 16,384. */
  readonly maxWaiting?: number;
}

const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
const MAX_WAITING = 16_384;

/**
 * Replies that wait. The engine's ROUTER drops what its peer does not take, so
 * this side takes a whole buffer of 10,000 batches.
 */
const MAX_REPLIES_WAITING = 20_000;

/** Milliseconds until the first attempt to reach a lost peer again; libzmq doubles it. */
const RECONNECT_MS = 100;
const MAX_RECONNECT_MS = 2_000;

/**
 * TCP's own keepalive finds a peer whose host is gone: after 10 s of silence,
 * three probes, 5 s apart. ZeroMQ's heartbeats would do as well, but not every
 * publisher that is no libzmq knows that command.
 */
const KEEPALIVE = { tcpKeepalive: 1, tcpKeepaliveIdle: 10, tcpKeepaliveInterval: 5, tcpKeepaliveCount: 3 };

/** Opens ZeroMQ sockets; the library is loaded here, so that a process without events does not pay for it. */
export async function loadZmqSockets(
  options: ZmqSocketsOptions,
  modules: { readonly logger: Logger },
): Promise<Sockets> {
  const zmq = await import('zeromq');
  const { logger } = modules;
  const common = {
    linger: 0,
    maxMessageSize: options.maxMessageBytes ?? MAX_MESSAGE_BYTES,
    reconnectInterval: RECONNECT_MS,
    reconnectMaxInterval: MAX_RECONNECT_MS,
    ...KEEPALIVE,
  };

  return {
    async subscribe(source, onLink) {
      const { address, binds } = parseEndpoint(source.endpoint);
      const socket = new zmq.Subscriber({
        ...common,
        receiveHighWaterMark: options.maxWaiting ?? MAX_WAITING,
      });
      const { events } = socket;
      events.on('handshake', () => onLink(true));
      events.on('disconnect', () => onLink(false));
      for (const type of [
        'handshake:error:protocol',
        'handshake:error:auth',
        'handshake:error:other',
      ] as const) {
        events.on(type, (event) => {
          logger.debug(
            { endpoint: source.endpoint, error: event.error },
            'The publisher of KV events speaks another protocol.',
          );
        });
      }
      try {
        socket.subscribe(source.topic);
        if (binds) await socket.bind(address);
        else socket.connect(address);
      } catch (error) {
        socket.close();
        throw error;
      }
      return readFrom(socket);
    },
    ask(endpoint) {
      const { address } = parseEndpoint(endpoint);
      const socket = new zmq.Dealer({ ...common, receiveHighWaterMark: MAX_REPLIES_WAITING });
      try {
        socket.connect(address);
      } catch (error) {
        socket.close();
        throw error;
      }
      return {
        ...readFrom(socket),
        send: (frames) =>
          socket.send(frames.map((frame) => (typeof frame === 'string' ? frame : Buffer.from(frame)))),
      };
    },
  };
}

function readFrom(socket: {
  receive(): Promise<Frames>;
  close(): void;
  readonly closed: boolean;
}): Subscription {
  return {
    async receive() {
      if (socket.closed) return undefined;
      try {
        return await socket.receive();
      } catch (error) {
        // A pending receive rejects when its socket is closed.
        if (socket.closed) return undefined;
        throw error;
      }
    },
    close() {
      if (!socket.closed) socket.close();
    },
  };
}

/** Throws an `Error` for a person when the address is of no kind that events travel on. */
function parseEndpoint(endpoint: string): { readonly address: string; readonly binds: boolean } {
  const binds = endpoint.startsWith('@');
  const address = binds ? endpoint.slice(1) : endpoint;
  if (!/^(tcp:\/\/.+:\d+|ipc:\/\/.+)$/.test(address)) {
    throw new Error('not an address of KV events; expected tcp://HOST:PORT or ipc://PATH');
  }
  return { address, binds };
}
