import type { Clock } from '../../edge/platform/clock.js';
import type { Random } from '../../edge/platform/random.js';
import type { SecurityOptions } from '../../edge/security/load-security.js';
import { createPlaintextSecurity, type Security } from '../../edge/security/security.js';
import { createSelfSigned } from '../../edge/security/self-signed.js';

/** What is served to gateways: TLS with the files that are named, with a certificate made here, or plaintext. */
export interface PickerSecuritySettings extends Pick<SecurityOptions, 'tlsCert'> {
  /** `--secure-serving`. */
  readonly secureServing: 'true' | 'false';
}

export interface PickerSecurityModules {
  readonly clock: Clock;
  readonly random: Random;
  /** What the settings say of certificates and tokens, which its owner closes. */
  readonly security: Security;
}

/**
 * How the port of the Endpoint Picker is protected: by the certificate of the
 * settings, or by one that is made now, which gateways take without checking
 * its name; or not at all, where that was asked for. Gateways show no tokens.
 */
export function pickerSecurity(
  { secureServing, tlsCert }: PickerSecuritySettings,
  { clock, random, security }: PickerSecurityModules,
): Security {
  if (secureServing === 'false') return createPlaintextSecurity({ allowsPlaintext: true });
  if (tlsCert !== undefined)
    return { ...security, findCallerProblem: () => undefined, close: () => undefined };
  const made = createSelfSigned({
    commonName: 'kv-accord epp',
    nowMs: clock.wallMs(),
    serial: random.uniqueId(),
  });
  return {
    ...createPlaintextSecurity(),
    transport: 'tls',
    servedTls: () => made,
  };
}
