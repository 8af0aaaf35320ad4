import type { FactSheet } from '../facts/fact-sheet.js';

/**
 * A number of a proto3 field without presence, where 0 means that the engine
 * did not say. Gives undefined for 0, and with a warning for what is negative
 * or larger than 2^53-1.
 */
export function readProtoNumber(value: number | bigint, name: string, sheet: FactSheet): number | undefined {
  if (value === 0 || value === 0n) return undefined;
  const number = Number(value);
  if (Number.isSafeInteger(number) && number > 0) return number;
  sheet.warn(`${name} is ${value}; expected a whole number from 0 to 2^53-1`);
  return undefined;
}
