import { sizeOf } from './log-fields.js';
import type { LogFindings } from './log-findings.js';
import type { LogLine } from './log-line.js';
import type { SettingName } from './sighting-words.js';

/**
 * A value in a dump of Python objects: `'block_size': 32`, `block_size=32`,
 * `model='Qwen/Qwen3'`. Undefined when it is not there, is None, or is no plain
 * number, word or text.
 */
export function pythonValue(text: string, name: string): string | undefined {
  for (const sign of [`'${name}': `, `"${name}": `, `${name}=`]) {
    for (let at = text.indexOf(sign); at !== -1; at = text.indexOf(sign, at + 1)) {
      if (sign.endsWith('=') && at > 0 && /[\w.]/.test(text.charAt(at - 1))) continue;
      const rest = text.slice(at + sign.length, at + sign.length + 256);
      const [, quoted, double, plain] = /^(?:'([^']*)'|"([^"]*)"|([\w.+-]+))(?=[,})\]\s]|$)/.exec(rest) ?? [];
      const value = quoted ?? double ?? plain;
      if (value !== undefined && value !== 'None' && value !== '') return plainly(value);
    }
  }
  return undefined;
}

/** `true` and `false` as everybody else writes them. */
function plainly(value: string): string {
  return value === 'True' || value === 'False' ? value.toLowerCase() : value;
}

/** Settings of a dump, by the program's own names for them. */
export function addPythonSettings(
  line: LogLine,
  tally: LogFindings,
  names: Readonly<Record<string, SettingName>>,
): void {
  for (const [name, setting] of Object.entries(names)) {
    const value = pythonValue(line.text, name);
    if (value !== undefined) tally.addSetting(line, setting, { side: 'worker', value, about: name });
  }
}

/** The block size of a dump: what the operator asked for. */
export function addPythonSize(line: LogLine, tally: LogFindings, name: string): void {
  const tokensPerBlock = sizeOf(pythonValue(line.text, name));
  tally.addSize(line, { side: 'worker', tokensPerBlock, basis: 'configured', about: name });
}
