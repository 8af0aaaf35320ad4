import type { SecureContextOptions } from 'node:tls';

/** How a server treats client certificates. */
export type ClientAuth = 'none' | 'request' | 'require';

/** What a server, of HTTP or of gRPC, speaks TLS with. */
export interface ServedTls {
  /** Certificate, key and authorities that hold now: the same object until the files change. */
  current(): SecureContextOptions;
  /** Each server says what it makes of `require`. */
  readonly clientAuth: ClientAuth;
}

/** TLS 1.0 and 1.1 are deprecated (RFC 8996); said here so that Node's own default does not decide. */
export function withTlsVersion(material: SecureContextOptions): SecureContextOptions {
  return { ...material, minVersion: 'TLSv1.2' };
}
