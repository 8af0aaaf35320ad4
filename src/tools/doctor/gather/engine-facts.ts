import type { SizeBasis } from '../../../engines/diagnosis/sighting-words.js';
import type { Origin, SettingSighting, SizeSighting } from '../evidence.js';
import { excerptOf } from '../logs/masking.js';
import { blockSizeOf, findEngineKeys, settingValueOf } from './engine-keys.js';

/** What an engine's configuration says of one worker. */
export interface EngineFacts {
  readonly sizes: readonly SizeSighting[];
  readonly settings: readonly SettingSighting[];
}

/** The sizes and settings in a configuration, and where it is from. */
export function engineFacts(
  config: unknown,
  from: { readonly who: string; readonly place: string; readonly basis: SizeBasis },
): EngineFacts {
  const sizes: SizeSighting[] = [];
  const settings: SettingSighting[] = [];
  const { who, place, basis } = from;
  for (const { path, meaning, value } of findEngineKeys(config)) {
    const origin: Origin = { place, text: excerptOf(`${path}: ${value}`, path) };
    if (meaning.name === 'block_size') {
      const tokensPerBlock = blockSizeOf(value);
      if (tokensPerBlock !== undefined) sizes.push({ side: 'worker', who, tokensPerBlock, basis, origin });
    } else if (!isUnset(value)) {
      const { name } = meaning;
      settings.push({
        side: 'worker',
        who,
        name,
        value: settingValueOf(meaning, value),
        isDefault: false,
        origin,
      });
    }
  }
  return { sizes, settings };
}

/** What engines print for a setting that nobody has made. */
function isUnset(value: string): boolean {
  return value === 'None' || value === 'auto';
}
