import type { StringValue } from 'ms';
import ms from 'ms';
import type { ParsedValue } from './parsed-value.js';
import type { DurationSetting, SizeSetting } from './setting.js';

/** The longest delay that timers take. */
const MAX_DURATION = '24d';

const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/;

/** `500ms`, `30s`, `1m30s`, `0` to milliseconds; undefined when it is no duration. @internal */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (!DURATION.test(text)) return undefined;
  const parts = text.match(/[\d.]+(?:ms|[smhd])/g) ?? [];
  return Math.round(parts.reduce((sum, part) => sum + ms(part as StringValue), 0));
}

const UNIT_BYTES: Readonly<Record<string, number>> = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** `64KiB`, `1.5GiB`, `0` to bytes; undefined when it is no size. @internal */
export function parseSize(text: string): number | undefined {
  if (text === '0') return 0;
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(KiB|MiB|GiB)$/.exec(text) ?? [];
  const unitBytes = UNIT_BYTES[unit ?? ''];
  return unitBytes === undefined ? undefined : Math.round(Number(digits) * unitBytes);
}

/** Reads a duration within the bounds of its setting. */
export function parseDurationSetting(setting: DurationSetting, text: string): ParsedValue {
  const min = setting.min ?? '0';
  const max = setting.max ?? MAX_DURATION;
  const value = parseDuration(text);
  if (value !== undefined && value >= (parseDuration(min) ?? 0) && value <= (parseDuration(max) ?? 0)) {
    return { ok: true, value };
  }
  const unit = /^\d+$/.test(text) && text !== '0' ? ` (with its unit: ${text}s or ${text}ms)` : '';
  return { ok: false, allowed: `a duration from ${min} to ${max}, such as 500ms, 30s or 5m${unit}` };
}

/** Reads a size within the bounds of its setting. */
export function parseSizeSetting(setting: SizeSetting, text: string): ParsedValue {
  const value = parseSize(text);
  const min = setting.min ?? '0';
  const max = setting.max;
  const isInRange =
    value !== undefined &&
    value >= (parseSize(min) ?? 0) &&
    value <= (max === undefined ? Number.MAX_SAFE_INTEGER : (parseSize(max) ?? 0));
  if (isInRange) return { ok: true, value };
  const range = max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
  return { ok: false, allowed: `a size ${range} in KiB, MiB or GiB, such as 16MiB` };
}
