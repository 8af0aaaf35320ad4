import { SettingError } from '../../app/setting-error.js';
import { kindOfPath } from '../../edge/platform/files/find-files.js';
import { STANDARD_INPUT } from '../../edge/platform/streams/standard-input.js';
import type { GivenFile } from '../../tools/manifests/lint/config/tree-files.js';
import { quote } from '../settings/wrong-value.js';
import { type ManifestFile, readManifestFiles } from './manifest-files.js';

/**
 * Reads the files of `--with`, each once. Throws a `SettingError` that names the
 * one which cannot be read, or is a folder.
 */
export async function readGivenFiles(values: readonly string[]): Promise<readonly GivenFile[]> {
  const files = new Map<string, GivenFile>();
  for (const value of values) {
    const at = value.indexOf('=');
    const [paths, name] = at > 0 ? [[value.slice(0, at)], value.slice(at + 1)] : [[], value];
    if (name === '' || name === STANDARD_INPUT || (await isFolder(name)))
      throw new SettingError(`--with ${quote(value)} (on the command line): must be FILE or PATH=FILE`);
    for (const { file, text } of await readNamed(name)) {
      const known = files.get(file);
      // Without a path it stands for every one of its name, also where another entry has a path for it.
      const isAny = paths.length === 0 || known?.paths.length === 0;
      files.set(file, { file, text, paths: isAny ? [] : [...(known?.paths ?? []), ...paths] });
    }
  }
  return [...files.values()];
}

async function readNamed(name: string): Promise<readonly ManifestFile[]> {
  try {
    return await readManifestFiles([name], {}, { keepsAll: true });
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    // It may come from elsewhere than the command line; who prints the message says from where.
    throw new SettingError(`--with ${error.message.replace(' (on the command line):', '')}`);
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await kindOfPath(path)) === 'folder';
  } catch {
    // What cannot be read is named by the reader.
    return false;
  }
}
