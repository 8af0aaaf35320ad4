import type { Clock } from '../edge/platform/clock.js';
import type { Logger } from '../edge/platform/logger.js';
import { systemRandom } from '../edge/platform/random.js';
import { FollowedFiles } from '../edge/security/followed-files.js';
import { SecurityError } from '../edge/security/security-error.js';
import { ApiKeys, ApiKeysError, readApiKeys } from '../frontend/gateway/api-keys.js';
import { SettingError } from './setting-error.js';

/** Keys that follow their file. */
export interface OpenedApiKeys {
  /** Those that hold now. */
  current(): ApiKeys;
  /** Follows the file no more. */
  close(): void;
}

const FIELD = '--api-key-file';

/** Reads the file of `--api-key-file`; one that cannot be used is the fault of the setting. */
export async function openApiKeys(
  path: string,
  modules: { readonly clock: Clock; readonly logger: Logger },
): Promise<OpenedApiKeys> {
  const secret = systemRandom.uniqueId();
  const parse = ([text = '']: readonly string[]): ApiKeys => {
    try {
      return new ApiKeys(readApiKeys(text), secret);
    } catch (error) {
      throw error instanceof ApiKeysError
        ? new SecurityError('bad_token', FIELD, `${path}: ${error.message}`)
        : error;
    }
  };
  try {
    const followed = await FollowedFiles.load(
      { files: [{ field: FIELD, path }], what: 'API keys', parse },
      modules,
    );
    return { current: () => followed.current, close: () => followed.close() };
  } catch (error) {
    throw error instanceof SecurityError ? new SettingError(error.message) : error;
  }
}
