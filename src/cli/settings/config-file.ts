import { isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { SettingError } from '../../app/setting-error.js';
import { CONFIG_YAML_BOUNDS, findYamlExcess, YAML_EXCESS } from '../../edge/platform/data/yaml-bounds.js';
import { quote } from './wrong-value.js';

/** One key of the configuration file. */
export interface ConfigEntry {
  readonly name: string;
  /** The value's text as it stands there; one for each item of a list. */
  readonly texts: readonly string[];
  /** Counted from 1. */
  readonly line: number;
}

/** A configuration file: flat, the same names as the flags. */
export interface ConfigFile {
  readonly path: string;
  readonly entries: readonly ConfigEntry[];
}

/**
 * Reads the text of a configuration file (YAML, and so JSON too). Values keep
 * the text that the person wrote, so that they are judged by the same rules as
 * flags. Throws a `SettingError` that names file and line. Slow to load: only
 * imported when there is such a file.
 */
export function parseConfigFile(path: string, text: string): ConfigFile {
  const excess = findYamlExcess(text, CONFIG_YAML_BOUNDS);
  if (excess !== undefined) throw new SettingError(`--config ${quote(path)}: ${YAML_EXCESS[excess]}`);
  const lines = new LineCounter();
  // In the failsafe schema every scalar is text: `on` stays `on`, 007 stays 007.
  const document = parseDocument(text, { lineCounter: lines, schema: 'failsafe', prettyErrors: false });
  const lineOf = (offset: number | undefined): number => Math.max(1, lines.linePos(offset ?? 0).line);
  const fail = (line: number, message: string): SettingError =>
    new SettingError(`--config ${quote(path)}: line ${line}: ${message}`);

  const [problem] = document.errors;
  if (problem !== undefined)
    throw fail(lineOf(problem.pos[0]), `not valid YAML: ${oneLine(problem.message)}`);
  const root = document.contents;
  if (root === null || (isScalar(root) && root.value === '')) return { path, entries: [] };
  if (!('items' in root) || isSeq(root)) {
    throw fail(lineOf(root.range?.[0]), 'must be "name: value" lines with the names of the flags');
  }
  const entries = root.items.map(({ key: keyNode, value }): ConfigEntry => {
    const line = lineOf(keyNode.range?.[0]);
    if (!isScalar(keyNode)) throw fail(line, 'a name must be plain text');
    const name = String(keyNode.value);
    const items: readonly unknown[] = isSeq(value) ? value.items : [value];
    const texts = items.map((item) => {
      const isText = isScalar(item) && typeof item.value === 'string' && item.value !== '';
      if (!isText) throw fail(line, `${quote(name)} must have a plain value or a list of plain values`);
      return String(item.value);
    });
    return { name, texts, line };
  });
  return { path, entries };
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 200);
}
