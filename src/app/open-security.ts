import type { Clock } from '../edge/platform/clock.js';
import type { Logger } from '../edge/platform/logger.js';
import { loadSecurity, type SecurityOptions } from '../edge/security/load-security.js';
import type { Security } from '../edge/security/security.js';
import { SecurityError } from '../edge/security/security-error.js';
import { SettingError } from './setting-error.js';

/** Reads certificates and tokens; a file that cannot be used rejects with a `SettingError`, before anything is started. */
export async function openSecurity(
  settings: SecurityOptions,
  modules: { readonly clock: Clock; readonly logger: Logger },
): Promise<Security> {
  try {
    return await loadSecurity(settings, modules);
  } catch (error) {
    throw error instanceof SecurityError ? new SettingError(error.message) : error;
  }
}
