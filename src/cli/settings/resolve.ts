import { SettingError } from '../../app/setting-error.js';
import type { Environment } from '../../edge/platform/processes/environment.js';
import type { ConfigEntry, ConfigFile } from './config-file.js';
import { formatUnits } from './format-value.js';
import { type FindPathProblem, parseValue } from './parse-value.js';
import type { SettingValue } from './parsed-value.js';
import { propertyName, type Setting, type SettingsOf, type SettingsTable, variablesOf } from './setting.js';
import { nearest, type Origin, quote, wrongValue } from './wrong-value.js';

/** Flags as they were given: name to the texts in order. A boolean has `true` or `false`. */
export type GivenFlags = ReadonlyMap<string, readonly string[]>;

/** Everything that a person can set, not yet read. */
export interface SettingSources {
  readonly flags: GivenFlags;
  readonly environment: Environment;
  readonly configFile?: ConfigFile | undefined;
}

/** One setting with its value and where it came from. */
export interface ResolvedEntry {
  readonly name: string;
  readonly setting: Setting;
  readonly value: SettingValue;
  readonly origin: Origin;
}

/** All settings of one command. */
export interface Resolved<Table extends SettingsTable> {
  readonly values: SettingsOf<Table>;
  /** In the table's order. */
  readonly entries: readonly ResolvedEntry[];
  /**
   * The error for a value that turned out wrong only later, in the same words:
   * throw it. `allowed` follows "must be". `value` replaces the whole value
   * where only a part is wrong.
   */
  reject(name: keyof Table & string, allowed: string, value?: string): SettingError;
}

/**
 * Finds every value of a table: flag, `KV_ACCORD_…`, `DYN_…`, configuration
 * file, default, the first that is there. An empty environment variable counts
 * as not set, because manifests cannot take one away. Throws a `SettingError`
 * at the first wrong value or unknown key, wherever it came from.
 */
export function resolve<Table extends SettingsTable>(
  table: Table,
  sources: SettingSources,
  findPathProblem: FindPathProblem,
): Resolved<Table> {
  const fileEntries = indexConfigFile(table, sources.configFile);
  const entries = Object.entries(table).map(([name, setting]): ResolvedEntry => {
    const given = findGiven(name, setting, sources, fileEntries);
    if (given === undefined) return { name, setting, value: defaultOf(setting), origin: { type: 'default' } };
    const parsed = parseValue(setting, given.texts, findPathProblem);
    if (parsed.ok) return { name, setting, value: parsed.value, origin: given.origin };
    const isSecret = setting.kind === 'file' && setting.holdsSecret === true;
    const shown = isSecret ? undefined : (parsed.part ?? given.texts.join(','));
    throw wrongValue(name, shown, given.origin, parsed.allowed, parsed.nearestWord);
  });
  const values = Object.fromEntries(
    entries.map(({ name, setting, value }) => [propertyName(name, setting.kind), value]),
  );
  return {
    // The one place where the names and types that follow from the table are asserted; its test holds them together.
    values: values as SettingsOf<Table>,
    entries,
    reject: (name, allowed, value) => {
      const entry = entries.find((candidate) => candidate.name === name);
      const text = value ?? formatGiven(entry);
      return wrongValue(name, text, entry?.origin ?? { type: 'default' }, allowed);
    },
  };
}

interface Given {
  readonly texts: readonly string[];
  readonly origin: Origin;
}

function findGiven(
  name: string,
  setting: Setting,
  sources: SettingSources,
  fileEntries: ReadonlyMap<string, { readonly path: string; readonly entry: ConfigEntry }>,
): Given | undefined {
  const flag = sources.flags.get(name);
  if (flag !== undefined) return { texts: flag, origin: { type: 'flag' } };
  for (const variable of variablesOf(name, setting)) {
    const text = sources.environment[variable];
    if (text !== undefined && text !== '') {
      return { texts: [text], origin: { type: 'environment', variable } };
    }
  }
  const inFile = fileEntries.get(name);
  if (inFile === undefined) return undefined;
  const { path, entry } = inFile;
  return { texts: entry.texts, origin: { type: 'config_file', path, line: entry.line } };
}

function indexConfigFile(
  table: SettingsTable,
  file: ConfigFile | undefined,
): Map<string, { path: string; entry: ConfigEntry }> {
  const found = new Map<string, { path: string; entry: ConfigEntry }>();
  if (file === undefined) return found;
  const known = Object.keys(table).filter((name) => table[name]?.inConfigFile !== false);
  for (const entry of file.entries) {
    const at = `--config ${quote(file.path)}: line ${entry.line}`;
    if (!known.includes(entry.name)) {
      const word = nearest(entry.name, known);
      const hint = word === undefined ? '' : `; did you mean ${word}?`;
      throw new SettingError(
        `${at}: unknown name ${quote(entry.name)}, must be a flag of this command${hint}`,
      );
    }
    if (entry.texts.length > 1 && table[entry.name]?.kind !== 'list') {
      throw new SettingError(
        `${at}: ${quote(entry.name)} takes one value, not a list of ${entry.texts.length}`,
      );
    }
    found.set(entry.name, { path: file.path, entry });
  }
  return found;
}

function defaultOf(setting: Setting): SettingValue {
  if (setting.kind === 'boolean') return setting.default ?? false;
  if (setting.kind === 'list') return setting.default ?? [];
  if (setting.default === undefined) return undefined;
  const parsed = parseValue(setting, [String(setting.default)], () => undefined);
  if (!parsed.ok)
    throw new TypeError(`the default ${setting.default} of a setting must be ${parsed.allowed}`);
  return parsed.value;
}

function formatGiven({ value, setting }: Partial<ResolvedEntry> = {}): string {
  if (typeof value === 'number' && (setting?.kind === 'duration' || setting?.kind === 'size'))
    return formatUnits(setting.kind, value);
  if (value === undefined) return '';
  if (typeof value === 'object') return 'text' in value ? value.text : value.join(',');
  return String(value);
}
