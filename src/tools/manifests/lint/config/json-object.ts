import { parseJson } from '../../../../edge/platform/data/bounded-json.js';

/** The object that a JSON text of a flag has; undefined where it is none. */
export function jsonObjectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = parseJson(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
