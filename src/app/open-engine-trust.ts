import type { Clock } from '../edge/platform/clock.js';
import type { Logger } from '../edge/platform/logger.js';
import { FollowedFiles } from '../edge/security/followed-files.js';
import { SecurityError } from '../edge/security/security-error.js';
import { readAuthorities } from '../edge/security/tls-material.js';
import { SettingError } from './setting-error.js';

/** Whose signature engines' certificates must have. */
export interface EngineTrust {
  /** PEM certificates of `--engine-tls-ca`, as the file holds them now; undefined: Node's own list. */
  readonly ca: () => string | undefined;
  close(): void;
}

const FIELD = '--engine-tls-ca';

/**
 * Reads the file of `--engine-tls-ca` and follows it: what it holds counts for
 * every connection that is made later, and what cannot be used is logged and
 * leaves the one before. Rejects with a `SettingError` at the start.
 */
export async function openEngineTrust(
  path: string | undefined,
  modules: { readonly clock: Clock; readonly logger: Logger },
): Promise<EngineTrust> {
  if (path === undefined) return { ca: () => undefined, close: () => {} };
  try {
    const followed = await FollowedFiles.load(
      {
        files: [{ field: FIELD, path }],
        what: 'authorities of engines',
        parse: ([text = '']) => readAuthorities({ path, text }, FIELD, modules.clock.wallMs()),
      },
      modules,
    );
    return { ca: () => followed.current, close: () => followed.close() };
  } catch (error) {
    throw error instanceof SecurityError ? new SettingError(error.message) : error;
  }
}
