import type { Socket } from 'node:net';
import { type CallCredentials, ChannelCredentials, type experimental } from '@grpc/grpc-js';

type ConnectorArguments = Parameters<ChannelCredentials['_createSecureConnector']>;
type SecureConnector = experimental.SecureConnector;

/**
 * Channel credentials that know their sockets. grpc-js 1.14 forgets a socket
 * whose TLS or HTTP/2 handshake never ends: closing the channel leaves it open
 * for ever, and no option bounds the handshake (grpc-node#2785). The connector
 * is the one place where grpc-js hands the socket out, so it is kept here: to
 * tell a peer that accepted from one that did not, and to cut it in the end.
 */
export class TrackedCredentials extends ChannelCredentials {
  readonly #inner: ChannelCredentials;
  readonly #sockets = new Set<Socket>();
  #hasAccepted = false;
  #isClosed = false;

  constructor(inner: ChannelCredentials) {
    super();
    this.#inner = inner;
  }

  /** Whether TCP was ever accepted. */
  get hasAccepted(): boolean {
    return this.#hasAccepted;
  }

  /** Sockets that are open now. */
  get openSockets(): number {
    return this.#sockets.size;
  }

  /** Cuts all sockets, also those that come later. */
  destroySockets(): void {
    this.#isClosed = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  override _isSecure(): boolean {
    return this.#inner._isSecure();
  }

  override _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  override _createSecureConnector(
    ...[target, options, callCredentials]: ConnectorArguments
  ): SecureConnector {
    const connector = this.#inner._createSecureConnector(target, options, callCredentials);
    return {
      connect: (socket) => {
        this.#track(socket);
        return connector.connect(socket);
      },
      waitForReady: () => connector.waitForReady(),
      getCallCredentials: (): CallCredentials => connector.getCallCredentials(),
      destroy: () => connector.destroy(),
    };
  }

  #track(socket: Socket): void {
    this.#hasAccepted = true;
    if (this.#isClosed) socket.destroy();
    if (socket.destroyed) return;
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}
