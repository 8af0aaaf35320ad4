import type { Socket } from 'node:net';
import type { Clock, Timer } from '../clock.js';

/**
 * Longest TLS handshake: a few round trips and one signature. Node's own bound
 * (`handshakeTimeout`) begins again with every byte, so that a byte now and
 * then would keep a connection for as long as the peer likes.
 */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/** Closes connections whose TLS handshake does not end in time, however busy they look. */
export class HandshakeWatch {
  readonly #clock: Clock;
  /** By address and port of the peer: a TLS socket does not name the one that it stands on. */
  readonly #pending = new Map<string, Timer>();

  constructor(modules: { readonly clock: Clock }) {
    this.#clock = modules.clock;
  }

  /** A connection begins its handshake. One of a Unix socket has no address, and Node's bound alone. */
  begin(socket: Socket): void {
    const peer = peerName(socket);
    if (peer === undefined) return;
    const timer = this.#clock.setTimer(HANDSHAKE_TIMEOUT_MS, () => socket.destroy());
    this.#pending.set(peer, timer);
    socket.once('close', () => {
      timer.clear();
      if (this.#pending.get(peer) === timer) this.#pending.delete(peer);
    });
  }

  /** The handshake of a connection has ended well. */
  end(secured: Socket): void {
    const peer = peerName(secured);
    if (peer !== undefined) this.#pending.get(peer)?.clear();
  }
}

/** What distinguishes one connection of a server from another; undefined on a Unix socket. */
export function peerName({
  remoteAddress,
  remotePort,
}: {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
}): string | undefined {
  return remoteAddress === undefined || remotePort === undefined
    ? undefined
    : `${remoteAddress} ${remotePort}`;
}
