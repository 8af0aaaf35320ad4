import { isIP, type Socket } from 'node:net';
import { connect, type SecureContext } from 'node:tls';
import { ChannelCredentials, credentials, type experimental } from '@grpc/grpc-js';

type SecureConnector = experimental.SecureConnector;
type SecureConnectResult = experimental.SecureConnectResult;

/** How far the newest attempt to connect has come. */
export type ConnectPhase = 'dialling' | 'accepted' | 'secured';

export interface PeerCredentialsOptions {
  /** The name or IP address that the peer's certificate must have. */
  readonly expectedHost: string;
  /** What to make TLS with, asked again at every connection; undefined for plaintext. */
  readonly secureContext: () => SecureContext | undefined;
}

/**
 * Channel credentials that know their sockets. grpc-js 1.14 forgets a socket
 * whose TLS or HTTP/2 handshake never ends: closing the channel leaves it open
 * for ever, and no option bounds the handshake (grpc-node#2785). The connector
 * is the one place where grpc-js hands the socket out, so it is kept here: to
 * distinguish a peer that accepted from one that did not, and to cut it in the end.
 * It also makes the TLS connection itself: each one with the newest
 * certificates, and with no server name for IP addresses (RFC 6066, 3).
 */
export class PeerCredentials extends ChannelCredentials {
  readonly #options: PeerCredentialsOptions;
  readonly #sockets = new Set<Socket>();
  #phase: ConnectPhase = 'dialling';
  #isClosed = false;

  constructor(options: PeerCredentialsOptions) {
    super();
    this.#options = options;
  }

  get phase(): ConnectPhase {
    return this.#phase;
  }

  /** Sockets that are open now. */
  get openSockets(): number {
    return this.#sockets.size;
  }

  /** Destroys all sockets, also those that come later. */
  destroySockets(): void {
    this.#isClosed = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  override _isSecure(): boolean {
    return this.#options.secureContext() !== undefined;
  }

  override _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  override _createSecureConnector(): SecureConnector {
    return {
      connect: (socket) => this.#connect(socket),
      waitForReady: () => Promise.resolve(),
      getCallCredentials: () => credentials.createEmpty(),
      destroy: () => undefined,
    };
  }

  async #connect(socket: Socket): Promise<SecureConnectResult> {
    this.#phase = 'accepted';
    this.#track(socket);
    if (this.#isClosed) throw new Error('the channel was closed');
    const secureContext = this.#options.secureContext();
    if (secureContext === undefined) return { socket, secure: false };
    const secured = await this.#secure(socket, secureContext);
    this.#phase = 'secured';
    return { socket: secured, secure: true };
  }

  #secure(socket: Socket, secureContext: SecureContext): Promise<Socket> {
    const host = this.#options.expectedHost;
    return new Promise((resolve, reject) => {
      const secured = connect({
        socket,
        secureContext,
        host,
        servername: isIP(host) === 0 ? host : '',
        ALPNProtocols: ['h2'],
      });
      const onClose = (): void => reject(new Error('the connection was closed during the TLS handshake'));
      secured.once('close', onClose);
      // Stays: an error after the handshake is grpc-js's to see as a close, never the process's.
      secured.on('error', reject);
      secured.once('secureConnect', () => {
        secured.off('close', onClose);
        if (secured.alpnProtocol === 'h2') resolve(secured);
        else reject(new Error('the TLS server offers no HTTP/2'));
      });
    });
  }

  #track(socket: Socket): void {
    if (this.#isClosed) socket.destroy();
    if (socket.destroyed) return;
    this.#sockets.add(socket);
    // A socket that fails also closes, and that is what everybody waits for; unheard, the error would end the process.
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}
