import type { Socket } from 'node:net';
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls';
import type { Logger } from '../platform/logger.js';
import { type ServedTls, withTlsVersion } from '../security/served-tls.js';

/** Sees each handshake that failed, and the peer's address where it is known still. It must not throw. */
export type OnHandshakeError = (error: NodeJS.ErrnoException, peer: string | undefined) => void;

/**
 * The TLS of a gRPC server, in front of grpc-js: grpc-js would hide its TLS
 * sockets, so that none could be closed that says nothing after the
 * handshake. Certificates rotate under it: connections that stand keep what
 * they were made with, new ones get the new.
 */
export class TlsFront {
  readonly #tls: ServedTls;
  readonly #logger: Logger;
  readonly #server: Server;
  #material: SecureContextOptions;

  constructor(
    tls: ServedTls,
    modules: {
      readonly logger: Logger;
      readonly onSecured: (socket: TLSSocket) => void;
      readonly onHandshakeError?: OnHandshakeError | undefined;
    },
  ) {
    this.#tls = tls;
    this.#logger = modules.logger;
    this.#material = tls.current();
    const options = {
      ...withTlsVersion(this.#material),
      ALPNProtocols: ['h2'],
      requestCert: tls.clientAuth !== 'none',
      rejectUnauthorized: tls.clientAuth === 'require',
    };
    this.#server = createServer(options, modules.onSecured);
    // A handshake that failed; without a listener Node would leave the connection open.
    this.#server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
      modules.onHandshakeError?.(error, socket.remoteAddress);
      socket.destroy();
    });
  }

  /** Begins the handshake on a new connection. */
  accept(socket: Socket): void {
    this.#followFiles();
    this.#server.emit('connection', socket);
  }

  #followFiles(): void {
    const current = this.#tls.current();
    if (current === this.#material) return;
    this.#material = current;
    try {
      this.#server.setSecureContext(withTlsVersion(current));
    } catch (error) {
      this.#logger.error({ error }, 'The new certificate cannot be used; the old one stays in use');
    }
  }
}
