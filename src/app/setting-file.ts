import { explainSystemError, readTextFile } from '../edge/platform/files/file.js';
import { SettingError } from './setting-error.js';

/** Longest key that an engine asks for; what is longer is another file. */
const MAX_KEY_BYTES = 4 * 1024;

/** Reads a file that a setting names. One that cannot be read is the fault of the setting. */
export async function readSettingFile(field: string, path: string, maxBytes: number): Promise<string> {
  try {
    return await readTextFile(path, maxBytes);
  } catch (error) {
    throw new SettingError(
      `${field} ${path}: must be a file that can be read, and it ${explainSystemError(error)}`,
    );
  }
}

/** Reads the key of `--engine-api-key-file`; undefined where no file is named. */
export async function readEngineKey(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const key = (await readSettingFile('--engine-api-key-file', path, MAX_KEY_BYTES)).trim();
  // Its text is never shown: it may be the key itself, in the wrong place.
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new SettingError(`--engine-api-key-file ${path}: must hold the key on one line, without spaces`);
  }
  return key;
}
