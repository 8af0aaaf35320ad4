import type { SecureContextOptions } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';

/** How a server treats client certificates. */
export type ClientAuth = 'none' | 'request' | 'require';

/** Time for the TLS handshake; Node's own is two minutes. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/**
 * Server credentials whose certificates can be exchanged while they serve.
 * Connections that stand keep what they were made with; new ones get the new.
 * grpc-js's own variant for this loads from files at its own pace and leaves
 * no say over the lowest TLS version.
 */
export class TlsServerCredentials extends ServerCredentials {
  constructor(context: SecureContextOptions, clientAuth: ClientAuth) {
    super(
      {
        requestCert: clientAuth !== 'none',
        rejectUnauthorized: clientAuth === 'require',
        handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      },
      context,
    );
  }

  /** What new connections get from now on. */
  replace(context: SecureContextOptions): void {
    this.updateSecureContextOptions(context);
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}
