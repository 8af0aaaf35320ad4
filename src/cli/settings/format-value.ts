import type { SettingValue } from './parsed-value.js';
import { withoutPassword } from './wrong-value.js';

/** The value as a person would write it: for `--print-config` and messages. */
export function formatValue(value: SettingValue): string {
  if (value === undefined) return '';
  if (typeof value === 'object') return withoutPassword('text' in value ? value.text : value.join(','));
  return withoutPassword(String(value));
}
