import { withOpenSslReasons } from '../platform/net/openssl-reason.js';
import type { ConnectPhase } from './peer-credentials.js';

/** Why no connection came about: the closed list. */
export const CONNECT_ERROR_CODES = [
  'unresolvable',
  'refused',
  'unreachable',
  'no_answer',
  'not_http2',
  'tls_failed',
  'plaintext_refused',
  'closed',
] as const;

/** A code of `ConnectError`. */
export type ConnectErrorCode = (typeof CONNECT_ERROR_CODES)[number];

/** A peer that could not be reached: what was dialled, what happened, and what may be done. */
export class ConnectError extends Error {
  readonly code: ConnectErrorCode;
  /** The address as it was dialled. */
  readonly address: string;

  constructor(code: ConnectErrorCode, address: string, message: string) {
    super(`${address}: ${message}`);
    this.name = 'ConnectError';
    this.code = code;
    this.address = address;
  }
}

/** Codes of attempts that nothing accepted: looking whether TCP is accepted again is enough. */
const NOBODY_THERE: ReadonlySet<ConnectErrorCode> = new Set(['refused', 'unreachable', 'no_answer']);

/** Whether an attempt failed because no process accepted TCP. */
export function isUnreached(error: unknown): boolean {
  return error instanceof ConnectError && NOBODY_THERE.has(error.code);
}

/** What is known of an attempt that failed. */
export interface FailedAttempt {
  readonly address: string;
  readonly transport: 'plaintext' | 'tls';
  /** How far it came. */
  readonly phase: ConnectPhase;
  /** grpc-js's own words, with Node's error in them. */
  readonly details: string;
}

/** Turns grpc-js's words about a failed attempt into an error that says what to look at. */
export function explainFailure(attempt: FailedAttempt): ConnectError {
  const { address, transport } = attempt;
  const cause = innermost(attempt.details);
  if (/name resolution failed|ENOTFOUND|EAI_AGAIN/i.test(attempt.details)) {
    return new ConnectError('unresolvable', address, `the host name cannot be resolved (${cause})`);
  }
  if (attempt.phase === 'secured') {
    return new ConnectError(
      'tls_failed',
      address,
      `ended the connection right after the TLS handshake (${cause}): does it want a client certificate (--tls-cert, --tls-key), or refuse ours as expired or of another CA?`,
    );
  }
  if (attempt.phase === 'accepted') {
    if (transport === 'tls') return new ConnectError('tls_failed', address, explainTls(cause));
    return new ConnectError(
      'not_http2',
      address,
      `accepts connections but does not speak plaintext HTTP/2 (${cause}): does it expect TLS, or is it another program?`,
    );
  }
  if (/ECONNREFUSED|ENOENT/.test(cause)) {
    return new ConnectError('refused', address, `nothing listens there (${cause})`);
  }
  return new ConnectError('unreachable', address, `cannot be reached (${cause})`);
}

/** The error of a peer that let a whole connect time-out pass. */
export function explainSilence(
  attempt: Omit<FailedAttempt, 'details'> & { readonly waitedMs: number },
): ConnectError {
  const seconds = `${attempt.waitedMs / 1000} s`;
  if (attempt.phase === 'dialling') {
    const message = `no answer for ${seconds}: the host is down, the name server is silent, or a firewall or a NetworkPolicy drops the packets`;
    return new ConnectError('no_answer', attempt.address, message);
  }
  const expected = attempt.transport === 'tls' && attempt.phase === 'accepted' ? 'TLS' : 'HTTP/2';
  return new ConnectError(
    'not_http2',
    attempt.address,
    `accepts connections but said nothing of ${expected} for ${seconds}: it hangs, or it is another program, or only one side uses TLS`,
  );
}

function explainTls(cause: string): string {
  if (/wrong version number|packet length too long|EPROTO/i.test(cause))
    return `does not speak TLS (${cause}): is it a plaintext server?`;
  if (/ALERT_CERTIFICATE_REQUIRED|alert handshake failure/i.test(cause))
    return `wants a client certificate (${cause}): set --tls-cert and --tls-key`;
  if (/alert certificate expired|ALERT_CERTIFICATE_EXPIRED/i.test(cause))
    return `refuses our client certificate as expired (${cause}): renew --tls-cert`;
  if (/alert unknown ca|ALERT_UNKNOWN_CA/i.test(cause))
    return `refuses our client certificate (${cause}): it is signed by a CA that the server does not know`;
  if (/certificate has expired/i.test(cause)) return `its certificate has expired (${cause}): renew it there`;
  if (/self[- ]signed|unable to (?:verify|get)|certificate signature failure/i.test(cause))
    return `its certificate is not signed by a CA that we know (${cause}): set --tls-ca to that CA`;
  if (/does not match certificate|altnames/i.test(cause))
    return `its certificate is for another name (${cause}): set --tls-server-name to a name that it has, or issue it for this one too`;
  return `the TLS handshake failed (${cause})`;
}

/** Longest piece of foreign words in a message. */
const MAX_CAUSE_CHARS = 200;

/** Takes grpc-js's frame off: what remains is Node's error. */
function innermost(details: string): string {
  const text = withOpenSslReasons(details)
    .replace(/^No connection established\. Last error: /, '')
    .replace(/\.? Resolution note:.*$/s, '')
    .replace(/ \(\d{4}-\d\d-\d\dT[\d:.]+Z\)/g, '')
    .replace(/^Error: /, '')
    .replace(/^Error \[[A-Z_]+\]: /, '')
    .replace(/\s+/g, ' ')
    .trim();
  return text.length > MAX_CAUSE_CHARS ? `${text.slice(0, MAX_CAUSE_CHARS)}…` : text;
}
