import { isMap } from 'yaml';
import { readSourceFile } from '../../source-file.js';
import { YamlAccess } from '../../yaml-access.js';
import type { Launch } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { variableOf } from '../launches/settings.js';
import { UNKNOWN } from '../shell/words.js';

/** The scalars of the configuration that a worker's LMCache reads; undefined where none is named, or its text is not here. */
export function readLmcacheFile(launch: Launch): ReadonlyMap<string, SettingValue> | undefined {
  const file = variableOf(launch, 'LMCACHE_CONFIG_FILE');
  const text = file === undefined ? undefined : launch.fileAt(file);
  if (text === undefined) return undefined;
  const { documents, problems } = readSourceFile('', text.value);
  const [document] = documents;
  if (problems.length > 0 || document === undefined || !isMap(document.contents)) return undefined;
  const entries = new YamlAccess(document).textEntries(document.contents);
  return new Map(
    entries.map(({ key, value }): [string, SettingValue] => [
      key.value,
      {
        value: value.value.includes(UNKNOWN) ? undefined : value.value,
        span: text.spanOf(value.start, value.end),
        how: 'engine-yaml',
        name: key.value,
      },
    ]),
  );
}
