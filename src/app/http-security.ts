import { Metadata } from '@grpc/grpc-js';
import type { HttpServerModules } from '../edge/http/http-server.js';
import type { SecurityOptions } from '../edge/security/load-security.js';
import type { Security } from '../edge/security/security.js';

/** The files and rules of section "Security" in a command's settings. */
export interface HttpSecuritySettings extends SecurityOptions {
  /** Whether callers must show a certificate. */
  readonly tlsClientAuth: 'none' | 'request' | 'require';
}

/**
 * Puts HTTP below the same rules as gRPC: the same certificates, which rotate
 * with their files, and the same tokens.
 */
export function httpSecurityOf(
  security: Security,
  settings: Pick<HttpSecuritySettings, 'tlsClientAuth'>,
): Pick<HttpServerModules, 'access' | 'tls'> {
  const access: HttpServerModules['access'] = {
    findCallerProblem: (authorization, hasVerifiedCertificate) => {
      const metadata = new Metadata();
      // Metadata takes printable ASCII alone; what HTTP lets through beyond that is no token either way.
      if (authorization !== undefined)
        metadata.set('authorization', authorization.replace(/[^\x20-\x7e]/g, ' '));
      return security.findCallerProblem(metadata, hasVerifiedCertificate);
    },
  };
  const served = security.servedTls();
  if (security.transport === 'plaintext' || served?.cert === undefined) return { access };
  return {
    access,
    tls: { current: () => security.servedTls() ?? served, clientAuth: settings.tlsClientAuth },
  };
}
