import { Metadata } from '@grpc/grpc-js';
import type { HttpServerModules } from '../edge/http/http-server.js';
import type { Security } from '../edge/security/security.js';

/**
 * Puts HTTP below the same rules as gRPC: the same certificates, which rotate
 * with their files, and the same tokens.
 */
export function httpSecurityOf(
  security: Security,
  settings: { readonly tlsClientAuth: 'none' | 'request' | 'require' },
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
