import { excerpt } from '../../edge/platform/probe-error.js';
import type { FactSheet } from '../facts/fact-sheet.js';

/**
 * Reads an integer from 0 to 2^53-1 out of a Python `str()`. Absent and
 * `"None"` give undefined; anything else that is no such number gives
 * undefined and a warning that names the field.
 */
export function readWhole(text: string | undefined, name: string, sheet: FactSheet): number | undefined {
  if (text === undefined || text === 'None' || text === '') return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value)) return value;
  sheet.warn(`${name} is ${excerpt(text)}; expected a whole number from 0 to 2^53-1`);
  return undefined;
}

/**
 * Reads an integer from 0 to 2^53-1 out of a metric's value, where the same
 * number may be written `32`, `32.0` or `1.389472e+06`.
 */
export function readWholeMetric(text: string, name: string, sheet: FactSheet): number | undefined {
  const value = /^[0-9.eE+-]{1,32}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= 0) return value;
  sheet.warn(`${name} is ${excerpt(text)}; expected a whole number from 0 to 2^53-1`);
  return undefined;
}
