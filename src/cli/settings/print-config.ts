import { formatUnits, formatValue } from './format-value.js';
import type { ResolvedEntry } from './resolve.js';
import { variablesOf } from './setting.js';
import { describeOrigin } from './wrong-value.js';

/**
 * All settings with where each came from, as YAML that `--config` takes again:
 * what is not set, and what a file may not hold, stands in comments.
 */
export function printConfig(commandName: string, entries: readonly ResolvedEntry[]): string {
  const rows = entries.map((entry) => {
    const text = entry.value === undefined ? '' : quoteYaml(entry);
    const isKey = text !== '' && entry.setting.inConfigFile !== false;
    return {
      left: `${isKey ? '' : '# '}${entry.name}:${text === '' ? '' : ` ${text}`}`,
      note: noteOf(entry),
    };
  });
  const width = Math.min(MAX_COLUMN, Math.max(...rows.map((row) => row.left.length)));
  const lines = rows.map((row) => `${row.left.padEnd(width)}  # ${row.note}`);
  return `# kv-accord ${commandName}\n${lines.join('\n')}\n`;
}

/** Where the remarks begin at the latest; longer values push their own aside. */
const MAX_COLUMN = 60;

/** The same for programs: name to value, its text, and where it came from. */
export function printConfigJson(entries: readonly ResolvedEntry[]): string {
  const settings = Object.fromEntries(
    entries.map((entry) => [
      entry.name,
      {
        value: jsonValue(entry),
        origin: entry.origin.type,
        source: describeOrigin(entry.origin),
      },
    ]),
  );
  return `${JSON.stringify(settings, undefined, 2)}\n`;
}

function jsonValue({ value, setting }: ResolvedEntry): unknown {
  if (value === undefined) return null;
  if (setting.kind === 'duration' || setting.kind === 'size') return formatUnits(setting.kind, Number(value));
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value === 'object' && !('text' in value)) return value.map((item) => formatValue(item));
  return formatValue(value);
}

function noteOf(entry: ResolvedEntry): string {
  if (entry.origin.type !== 'default') return describeOrigin(entry.origin);
  const { defaultHelp } = entry.setting;
  const isUnset = entry.value === undefined || (Array.isArray(entry.value) && entry.value.length === 0);
  if (!isUnset) return 'default';
  const [variable] = variablesOf(entry.name, entry.setting);
  return `${defaultHelp ?? 'not set'}${variable === undefined ? '' : ` (${variable})`}`;
}

/** The value as YAML; plain where that is safe in every schema, else in JSON's double quotes. */
function quoteYaml(entry: ResolvedEntry): string {
  const { value, setting } = entry;
  if (setting.kind === 'duration' || setting.kind === 'size') return formatUnits(setting.kind, Number(value));
  const text = formatValue(value);
  return /^(?:[\w./][\w./:@+=,-]*)?$/.test(text) && !text.endsWith(':') ? text : JSON.stringify(text);
}
