import { isAcceptedToken, readTokens, type Tokens } from './bearer-tokens.js';
import { type FileField, FollowedFiles, type FollowedFilesModules } from './followed-files.js';
import type { Security } from './security.js';
import { SecurityError } from './security-error.js';
import type { ClientAuth } from './served-tls.js';
import { type PemFile, readTlsMaterial, type TlsMaterial } from './tls-material.js';

/** The settings of section "Common" that concern security; paths of files. */
export interface SecurityOptions {
  /** Our certificate, with the chain behind it: what a server shows, and a client too. */
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  /** Who signs the certificates of the others; default for clients: the public authorities that Node knows. */
  readonly tlsCa?: string | undefined;
  /**
   * Whether clients show a certificate. `request`: one that is shown and good
   * stands in for the token; one that is not good counts as none. Default `none`.
   */
  readonly tlsClientAuth?: ClientAuth | undefined;
  /** The name that the certificates of servers must have, where they are dialled by addresses that change. */
  readonly tlsServerName?: string | undefined;
  readonly tokenFile?: string | undefined;
  /** Plaintext beyond this machine. */
  readonly insecure?: boolean | undefined;
}

/** Clock, logger, and in tests the reader of files. */
export type SecurityModules = FollowedFilesModules;

/**
 * Reads all that connections are protected with, and watches the files so that
 * a rotation needs no restart. Rejects with a `SecurityError` that names the
 * flag, the file and what is wrong; then nothing is left running.
 */
export async function loadSecurity(options: SecurityOptions, modules: SecurityModules): Promise<Security> {
  checkOptions(options);
  const tls = isTls(options) ? await loadTls(options, modules) : undefined;
  let tokens: FollowedFiles<Tokens> | undefined;
  try {
    if (options.tokenFile !== undefined) tokens = await loadTokens(options.tokenFile, modules);
  } catch (error) {
    tls?.close();
    throw error;
  }
  return {
    transport: tls === undefined ? 'plaintext' : 'tls',
    allowsPlaintext: options.insecure ?? false,
    serverName: options.tlsServerName,
    canServe: tls === undefined || options.tlsCert !== undefined,
    servedTls: () => tls?.current.options,
    clientAuth: options.tlsClientAuth ?? 'none',
    secureContext: () => tls?.current.context,
    bearerToken: () => tokens?.current[0],
    findCallerProblem: (authorization, hasVerifiedCertificate) => {
      // `request` offers the certificate in place of the token; `require` asks for it beside the token.
      if (tokens === undefined || (hasVerifiedCertificate && options.tlsClientAuth === 'request')) {
        return undefined;
      }
      return findTokenProblem(authorization, tokens.current);
    },
    close: () => {
      tls?.close();
      tokens?.close();
    },
  };
}

function isTls(options: SecurityOptions): boolean {
  return options.tlsCert !== undefined || options.tlsCa !== undefined;
}

function checkOptions(options: SecurityOptions): void {
  const { tlsCert, tlsKey, tlsCa, tlsClientAuth = 'none', tlsServerName, insecure } = options;
  const conflict = (field: string, message: string): SecurityError =>
    new SecurityError('options_conflict', field, message);
  if (tlsCert !== undefined && tlsKey === undefined)
    throw conflict('--tls-cert', `${tlsCert}: needs the key that belongs to it; set --tls-key`);
  if (tlsKey !== undefined && tlsCert === undefined)
    throw conflict('--tls-key', `${tlsKey}: needs the certificate that belongs to it; set --tls-cert`);
  if (tlsClientAuth !== 'none' && tlsCert === undefined)
    throw conflict('--tls-client-auth', `${tlsClientAuth}: needs TLS; set --tls-cert and --tls-key`);
  if (tlsClientAuth !== 'none' && tlsCa === undefined)
    throw conflict(
      '--tls-client-auth',
      `${tlsClientAuth}: needs to know who signs the clients; set --tls-ca`,
    );
  if (tlsServerName !== undefined && !isTls(options))
    throw conflict('--tls-server-name', `${tlsServerName}: needs TLS; set --tls-ca`);
  if (insecure === true && isTls(options)) {
    const set = tlsCert === undefined ? '--tls-ca' : '--tls-cert';
    throw conflict('--insecure', `says plaintext and ${set} says TLS; keep one of them`);
  }
}

async function loadTls(
  options: SecurityOptions,
  modules: SecurityModules,
): Promise<FollowedFiles<TlsMaterial>> {
  const { tlsCert, tlsKey, tlsCa } = options;
  const files = [
    { field: '--tls-cert', path: tlsCert },
    { field: '--tls-key', path: tlsKey },
    { field: '--tls-ca', path: tlsCa },
  ].filter((file): file is FileField => file.path !== undefined);
  return FollowedFiles.load(
    {
      files,
      what: 'TLS certificates',
      parse: (texts) => {
        const fileOf = (field: string): PemFile | undefined => {
          const at = files.findIndex((file) => file.field === field);
          const path = files[at]?.path;
          return path === undefined ? undefined : { path, text: texts[at] ?? '' };
        };
        const [cert, key] = [fileOf('--tls-cert'), fileOf('--tls-key')];
        const pair = cert !== undefined && key !== undefined ? { cert, key } : undefined;
        return readTlsMaterial({ pair, ca: fileOf('--tls-ca') }, modules.clock.wallMs());
      },
    },
    modules,
  );
}

async function loadTokens(path: string, modules: SecurityModules): Promise<FollowedFiles<Tokens>> {
  return FollowedFiles.load(
    {
      files: [{ field: '--token-file', path }],
      what: 'bearer tokens',
      parse: ([text]) => readTokens(path, text ?? ''),
    },
    modules,
  );
}

function findTokenProblem(authorization: string | undefined, accepted: Tokens): string | undefined {
  if (authorization === undefined) return 'this server wants a token in the metadata "authorization"';
  const match = /^Bearer +(\S+)$/i.exec(authorization);
  if (match?.[1] === undefined)
    return 'the metadata "authorization" is not the word Bearer, a space and a token';
  return isAcceptedToken(match[1], accepted) ? undefined : 'the token is not one that this server accepts';
}
