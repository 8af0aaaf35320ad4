import { formFor } from '../../../core/text/lists.js';

const NUMBERS = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });
const WHOLE_NUMBERS = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

const BYTE_UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/** `1,204`. */
export function countText(count: number): string {
  return WHOLE_NUMBERS.format(count);
}

/** `131,072 bytes`, `39.7 GiB`. */
export function bytesText(bytes: number): string {
  let unit = 0;
  let value = bytes;
  while (Math.abs(value) >= 1024 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${NUMBERS.format(value)} ${BYTE_UNITS[unit]}`;
}

/** `0%`, `0.4%`, `52%`: small shares keep a digit, because 0.4% is not nothing. */
export function shareText(share: number): string {
  const percent = share * 100;
  return `${percent !== 0 && Math.abs(percent) < 10 ? NUMBERS.format(percent) : WHOLE_NUMBERS.format(percent)}%`;
}

/** `810 ms`, `12 s`, `3.5 min`, `2 h`. */
export function durationText(seconds: number): string {
  if (seconds < 1) return `${countText(seconds * 1000)} ms`;
  if (seconds < 120) return `${NUMBERS.format(seconds)} s`;
  if (seconds < 7_200) return `${NUMBERS.format(seconds / 60)} min`;
  return `${NUMBERS.format(seconds / 3_600)} h`;
}

/** `2026-02-16 14:38:53 UTC`. */
export function dateText(ms: number): string {
  return `${isoText(ms).slice(0, 19).replace('T', ' ')} UTC`;
}

/** `14:38:53`. */
export function timeOfDayText(ms: number): string {
  return isoText(ms).slice(11, 19);
}

/** As ISO 8601; the epoch for what no calendar has, because times come out of foreign logs. */
export function isoText(ms: number): string {
  const date = new Date(ms);
  return (Number.isNaN(date.getTime()) ? new Date(0) : date).toISOString();
}

/** A number with its unit, as steps of an arithmetic end: `4 MiB (4,194,304 bytes)`, `321,024 tokens`. */
export function amountText(value: number, unit: string): string {
  if (unit === 'seconds') return durationText(value);
  const plain = `${NUMBERS.format(value)} ${unit}`;
  return unit === 'bytes' && value >= 1024 ? `${bytesText(value)} (${plain})` : plain;
}

/** `1 worker`, `2 workers`. */
export function countOf(count: number, thing: string): string {
  return `${countText(count)} ${formFor(count, thing)}`;
}
