import { ListenError } from '../edge/platform/net/listen.js';
import { SecurityError } from '../edge/security/security-error.js';
import { SettingError } from './setting-error.js';

/**
 * Starts a process that listens. A port that is taken, or an address that must
 * not be served as it is, is the fault of a setting: one line, and nothing was
 * started.
 */
export async function startOrExplain<Addresses>(server: { start(): Promise<Addresses> }): Promise<Addresses> {
  try {
    return await server.start();
  } catch (error) {
    const isSetting = error instanceof ListenError || error instanceof SecurityError;
    throw isSetting ? new SettingError(error.message) : error;
  }
}
