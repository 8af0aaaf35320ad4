/** Codes of OpenSSL's verification that say: signed by no authority that is trusted here. */
const UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Errors that a TLS client meets at a server which does not speak TLS. */
const NO_TLS: ReadonlySet<string> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'EPROTO',
]);

/**
 * What to do about a TLS connection to an engine that could not be made, by
 * the `code` of Node's error; undefined where the error is of another kind.
 * Codes are OpenSSL's, as `node:tls` hands them on.
 */
export function explainTlsFailure(code: string): string | undefined {
  if (UNKNOWN_AUTHORITY.has(code))
    return 'its certificate is signed by no authority that is known here; name the file with the authority by --engine-tls-ca';
  if (code === 'CERT_HAS_EXPIRED') return 'its certificate has expired; renew it at the engine';
  if (code === 'CERT_NOT_YET_VALID') return 'its certificate is not valid yet; are the clocks right?';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return 'its certificate is for another name; use a name or an address that the certificate has';
  if (NO_TLS.has(code)) return 'it does not speak TLS; its address begins with http:// then';
  return undefined;
}
