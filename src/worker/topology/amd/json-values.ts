import { plainText } from '../limits.js';

/** The value when it is a JSON array, else an empty one. */
export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Text, or an integer as text; undefined for `N/A`, an empty text and everything else. */
export function textOf(value: unknown): string | undefined {
  if (typeof value !== 'string' && !Number.isSafeInteger(value)) return undefined;
  const text = plainText(String(value));
  return text === '' || text === 'N/A' ? undefined : text;
}

/** An integer from 0 to `max`, also written as text; undefined for everything else. */
export function countOf(value: unknown, max: number): number | undefined {
  const text = textOf(value);
  if (text === undefined || !/^\d{1,15}$/.test(text)) return undefined;
  const count = Number(text);
  return count <= max ? count : undefined;
}
