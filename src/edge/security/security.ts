import type { SecureContext, SecureContextOptions } from 'node:tls';
import { type Address, isLoopback } from '../platform/address.js';
import { SecurityError } from './security-error.js';
import type { ClientAuth } from './served-tls.js';

/** How connections are protected and who may ask. Made by `loadSecurity`. */
export interface Security {
  readonly transport: 'plaintext' | 'tls';
  /** Whether an operator said that plaintext may leave this machine. */
  readonly allowsPlaintext: boolean;
  /** The name that peers' certificates must have; undefined: the host that is dialled. */
  readonly serverName: string | undefined;
  /** Whether there is a certificate to serve with; true for plaintext, which needs none. */
  readonly canServe: boolean;
  /** What servers serve with: the same object until the files change; undefined for plaintext. */
  servedTls(): SecureContextOptions | undefined;
  /** How servers treat client certificates; `none` for plaintext. */
  readonly clientAuth: ClientAuth;
  /** What a new TLS connection is made with, now; undefined for plaintext. */
  secureContext(): SecureContext | undefined;
  /** What a client sends along with each call; undefined when no token is configured. */
  bearerToken(): string | undefined;
  /**
   * Why a caller may not ask, as a message for it; undefined when it may.
   * `authorization` is the value of that header or metadata; undefined where
   * it was not sent.
   */
  findCallerProblem(authorization: string | undefined, hasVerifiedCertificate: boolean): string | undefined;
  /** Ends the watching of files. */
  close(): void;
}

/** No protection at all: for loopback, or beyond it when an operator insists. */
export function createPlaintextSecurity(options: { readonly allowsPlaintext?: boolean } = {}): Security {
  return {
    transport: 'plaintext',
    allowsPlaintext: options.allowsPlaintext ?? false,
    serverName: undefined,
    canServe: true,
    servedTls: () => undefined,
    clientAuth: 'none',
    secureContext: () => undefined,
    bearerToken: () => undefined,
    findCallerProblem: () => undefined,
    close: () => undefined,
  };
}

/**
 * Why `listen` must not be served with `security`, in one line with a way out;
 * undefined when it may. `field` is the setting that `listen` came from.
 * Servers ask it too when they start; commands ask before they start anything.
 */
export function checkExposure(listen: Address, security: Security, field = '--listen'): string | undefined {
  const problem = findExposure(listen, security);
  return problem === undefined ? undefined : new SecurityError('exposed', field, problem).message;
}

/** Throws a `SecurityError` `exposed` where `checkExposure` has something to say. */
export function refuseExposure(listen: Address, security: Security, field: string): void {
  const problem = findExposure(listen, security);
  if (problem !== undefined) throw new SecurityError('exposed', field, problem);
}

function findExposure(listen: Address, security: Security): string | undefined {
  if (security.transport === 'tls') {
    if (security.canServe) return undefined;
    return `${listen.text}: there is a --tls-ca but nothing to serve TLS with; set --tls-cert and --tls-key`;
  }
  if (security.allowsPlaintext || isLoopback(listen)) return undefined;
  return (
    `${listen.text}: other machines could reach it, and it would be plaintext; ` +
    'set --tls-cert and --tls-key, or say --insecure, or listen on 127.0.0.1'
  );
}
