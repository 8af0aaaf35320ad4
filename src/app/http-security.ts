import type { HttpServerModules } from '../edge/http/http-server.js';
import type { SecurityOptions } from '../edge/security/load-security.js';
import type { Security } from '../edge/security/security.js';
import type { ClientAuth } from '../edge/security/served-tls.js';

/** The files and rules of section "Security" in a command's settings. */
export interface HttpSecuritySettings extends SecurityOptions {
  /** Whether callers must show a certificate. */
  readonly tlsClientAuth: ClientAuth;
}

/**
 * Puts HTTP below the same rules as gRPC: the same certificates, which rotate
 * with their files, and the same tokens.
 */
export function httpSecurityOf(
  security: Security,
  settings: Pick<HttpSecuritySettings, 'tlsClientAuth'>,
): Pick<HttpServerModules, 'access' | 'tls'> {
  const served = security.servedTls();
  if (security.transport === 'plaintext' || served?.cert === undefined) return { access: security };
  return {
    access: security,
    tls: { current: () => security.servedTls() ?? served, clientAuth: settings.tlsClientAuth },
  };
}
