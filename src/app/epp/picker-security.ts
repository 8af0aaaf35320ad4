import type { Clock } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { Random } from '../../edge/platform/random.js';
import type { SecurityOptions } from '../../edge/security/load-security.js';
import { createPlaintextSecurity, type Security } from '../../edge/security/security.js';
import { createSelfSigned } from '../../edge/security/self-signed.js';
import { openSecurity } from '../open-security.js';

export interface PickerSecuritySettings extends SecurityOptions {
  /** `--secure-serving`. */
  readonly secureServing: 'true' | 'false';
}

/**
 * How the port of the Endpoint Picker is protected: by the certificate of the
 * settings, or by one that is made now, which gateways take without checking
 * its name; or not at all, where that was asked for. Gateways show no tokens.
 */
export async function openPickerSecurity(
  settings: PickerSecuritySettings,
  { clock, logger, random }: { readonly clock: Clock; readonly logger: Logger; readonly random: Random },
): Promise<Security> {
  if (settings.secureServing === 'false') return createPlaintextSecurity({ allowsPlaintext: true });
  if (settings.tlsCert !== undefined) {
    const own = await openSecurity(settings, { clock, logger });
    return { ...own, findCallerProblem: () => undefined };
  }
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
