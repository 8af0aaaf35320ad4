import { onOneLine } from '../../../core/text/printable.js';
import type { Evidence, Side } from '../evidence.js';
import { masked } from '../logs/masking.js';
import { placeText } from './safe-text.js';

/** One setting of one program. */
export interface SettingRow {
  readonly side: Side;
  readonly who: string;
  readonly name: string;
  /** With `(default)` behind it where nothing was set. */
  readonly value: string;
  readonly from: string;
}

/** The settings that were seen, each once. */
export function settingRows({ settings }: Evidence): readonly SettingRow[] {
  const seen = new Set<string>();
  return settings.flatMap(({ side, who, name, value, isDefault, origin }) => {
    const key = JSON.stringify([side, who, name, value]);
    if (seen.has(key)) return [];
    seen.add(key);
    const shown = onOneLine(masked(value));
    return [
      {
        side,
        who: who === '' ? '-' : onOneLine(who),
        name,
        value: isDefault ? `${shown} (default)` : shown,
        from: placeText(origin),
      },
    ];
  });
}
