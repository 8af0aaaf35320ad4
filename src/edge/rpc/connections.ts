import type { Socket } from 'node:net';
import type { Clock } from '../platform/clock.js';
import { peerName } from '../platform/net/handshake-watch.js';
import type { RpcLimits } from './limits.js';
import { RateLimit } from './rate-limit.js';

/** What a server remembers of one connection while it lasts. */
export interface Connection {
  openCalls: number;
  readonly rate: RateLimit;
}

/** How long a connection may stay without having said anything that HTTP/2 begins with. @internal */
export const FIRST_BYTES_TIMEOUT_MS = 10_000;

/** HTTP/2's preface (24 bytes) and an empty SETTINGS frame (9 bytes): the least that a peer begins with. */
const FIRST_BYTES = 33;

/** All connections of a server: their sockets, and the account of each. */
export class Connections {
  readonly #limits: RpcLimits;
  readonly #clock: Clock;
  readonly #sockets = new Set<Socket>();
  readonly #byPeer = new Map<string, Connection>();
  /** Peers on a Unix socket have no address to distinguish them: they share one account. */
  readonly #unnamed: Connection;
  /** Who waits until the last socket has closed. */
  #waiting: (() => void)[] = [];

  constructor(options: { readonly limits: RpcLimits }, modules: { readonly clock: Clock }) {
    this.#limits = options.limits;
    this.#clock = modules.clock;
    this.#unnamed = this.#newConnection();
  }

  get size(): number {
    return this.#sockets.size;
  }

  /** Takes a new connection on; it is forgotten when its socket closes. */
  add(socket: Socket): void {
    const peer = peerName(socket);
    if (peer !== undefined) this.#byPeer.set(peer, this.#newConnection());
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      if (peer !== undefined) this.#byPeer.delete(peer);
      if (this.#sockets.size === 0) for (const resolve of this.#waiting.splice(0)) resolve();
    });
  }

  /** `socket`, under TLS the one within, is to say what HTTP/2 begins with, or it is closed. */
  expectFirstBytes(socket: Socket): void {
    const timer = this.#clock.setTimer(FIRST_BYTES_TIMEOUT_MS, () => {
      if (socket.bytesRead < FIRST_BYTES) socket.destroy();
    });
    socket.once('close', () => timer.clear());
  }

  /** The account of the connection from that address and port. */
  find(remoteAddress: string | undefined, remotePort: number | undefined): Connection {
    const peer = peerName({ remoteAddress, remotePort });
    return (peer === undefined ? undefined : this.#byPeer.get(peer)) ?? this.#unnamed;
  }

  /** Closes all sockets immediately. */
  destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Resolves when no socket is open. */
  whenEmpty(): Promise<void> {
    if (this.#sockets.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #newConnection(): Connection {
    const perSecond = this.#limits.maxCallsPerSecondPerConnection;
    return { openCalls: 0, rate: new RateLimit({ perSecond }, { clock: this.#clock }) };
  }
}
