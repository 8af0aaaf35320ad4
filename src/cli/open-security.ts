import type { Clock } from '../platform/clock.js';
import type { Logger } from '../platform/logger.js';
import { loadSecurity, type SecurityOptions } from '../rpc/credentials.js';
import type { Security } from '../rpc/security.js';
import { SecurityError } from '../rpc/security-error.js';
import { SettingError } from './settings/setting-error.js';

/** Reads certificates and tokens; what cannot be used is the fault of a setting, told before anything is started. */
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
