import type { EngineTuning, SettingLine } from '../../../engines/descriptor/engine-launch.js';
import type { SettingName } from '../../../engines/diagnosis/sighting-words.js';
import type { Measurements } from '../measurements/measurements.js';

/** A host cache that there is gets this much larger. */
const LARGER = 2;

/** The line of a host cache: one to begin with, else one larger than what there is. */
export function hostCacheLine(
  measurements: Measurements,
  { hostCache }: EngineTuning,
): { readonly setting: SettingLine; readonly now: string } {
  const { sizes, where, note } = hostCache;
  const isOn = measurements
    .settings(hostCache.setting)
    .some(({ value }) => value !== 'false' && value !== '0' && value !== '');
  const known = sizes.find(({ setting }) => sizeOf(measurements, setting) !== undefined);
  const size = known ?? sizes.at(-1) ?? sizes[0];
  const has = isOn ? (sizeOf(measurements, size.setting) ?? size.begin) : undefined;
  const wanted = has === undefined ? size.begin : has * LARGER;
  return {
    setting: { where, line: size.line(wanted), note },
    now: has === undefined ? '' : ` (now ${has}${known === undefined ? ', by default' : ''})`,
  };
}

/** The largest size above zero that any worker has by this setting. */
function sizeOf(measurements: Measurements, setting: SettingName): number | undefined {
  const given = measurements
    .settings(setting)
    .map(({ value }) => Number(value))
    .filter((value) => Number.isFinite(value) && value > 0);
  return given.length === 0 ? undefined : Math.max(...given);
}

/** Whether the cache has eight bits a value or fewer already, by the engine or the checkpoint. */
export function hasSmallValues({ settings, evidence }: Measurements): boolean {
  const dtypes = [...settings('kv_cache_format'), ...settings('kv_cache_dtype')];
  return (
    evidence.models.some(({ cacheBits }) => cacheBits !== undefined) ||
    dtypes.some(({ value }) => /fp8|float8|int8|fp4|float4|int4|turboquant/i.test(value))
  );
}
