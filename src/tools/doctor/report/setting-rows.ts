import { onOneLine } from '../../../core/text/printable.js';
import type { Evidence } from '../evidence.js';
import { masked } from '../logs/masking.js';
import { placeText } from './safe-text.js';
import { type Table, tableOf } from './table.js';

/** The settings that were seen, each once. `(default)` stands behind the value where nothing was set. */
export function settingTable({ settings }: Evidence): Table {
  const rows = new Map<string, readonly string[]>();
  for (const { side, who, name, value, isDefault, origin } of settings) {
    const key = JSON.stringify([side, who, name, value]);
    if (rows.has(key)) continue;
    const shown = onOneLine(masked(value));
    rows.set(key, [
      side,
      who === '' ? '-' : onOneLine(who),
      name,
      isDefault ? `${shown} (default)` : shown,
      placeText(origin),
    ]);
  }
  return tableOf(['Side', 'Who', 'Setting', 'Value', 'From'], [...rows.values()]);
}
