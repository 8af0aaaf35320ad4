import type { SettingValue } from './parsed-value.js';
import { withoutPassword } from './wrong-value.js';

/** The value as a person would write it: for `--print-config` and messages. */
export function formatValue(value: SettingValue): string {
  if (value === undefined) return '';
  if (typeof value === 'object') return withoutPassword('text' in value ? value.text : value.join(','));
  return withoutPassword(String(value));
}

/** A number of milliseconds or bytes in the largest unit that leaves it whole. */
export function formatUnits(kind: 'duration' | 'size', value: number): string {
  const units = kind === 'duration' ? DURATION_UNITS : SIZE_UNITS;
  if (value === 0) return '0';
  for (const [unit, factor] of units) if (value % factor === 0) return `${value / factor}${unit}`;
  const [unit, factor] = units.at(-1) ?? ['', 1];
  return `${value / factor}${unit}`;
}

const DURATION_UNITS: readonly (readonly [string, number])[] = [
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
];
const SIZE_UNITS: readonly (readonly [string, number])[] = [
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
  ['KiB', 2 ** 10],
];
