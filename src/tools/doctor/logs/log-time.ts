import {
  DAY_MS,
  FIRST_YEAR,
  LAST_YEAR,
  quickFullTime,
  quickYearlessTime,
  type TimeGaps,
} from './quick-time.js';

/** Where in a line a time may begin: behind a bracket, a level, the name of a process. */
const ZONED_OR_NOT =
  /^\[?(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?: ?(Z|UTC|[+-]\d\d:?\d\d))?/;
/** TensorRT-LLM: `[12/20/2025-03:40:47] [TRT-LLM] [I]`. */
const TENSORRT = /^\[(\d\d)\/(\d\d)\/(\d{4})-(\d\d):(\d\d):(\d\d)\]/;
/** vLLM: `(EngineCore pid=7) INFO 11-21 17:33:09 [file.py:1]`; klog: `W1121 17:31:57.409000 16648 file.go:29]`. */
const YEARLESS =
  /^(?:\([^()]{1,80}\) )?(?:(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) +(\d\d)-(\d\d)|[IWEF](\d\d)(\d\d)) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?/;
const EPOCH = /^(\d{10})(?:\.(\d{1,9})|(\d{3}))?(?=\s)/;

/**
 * The time at the beginning of a line in wall-clock milliseconds; undefined when
 * there is none. A time without a zone is taken as UTC. One without a year is
 * put into the last year that has it not more than a day after `nowMs`.
 */
export function timeOf(text: string, nowMs: number, gaps: TimeGaps): number | undefined {
  const quick = quickFullTime(text, gaps) ?? quickYearlessTime(text, nowMs, gaps);
  if (quick !== undefined) return quick;
  const full = ZONED_OR_NOT.exec(text);
  if (full !== null) {
    const [, year, month, day, hour, minute, second, fraction, zone] = full;
    const ms = utcMs([year, month, day, hour, minute, second], fraction);
    if (ms === undefined) return undefined;
    if (zone === undefined) gaps.hasNoZone = true;
    return ms - offsetMs(zone);
  }
  const tensorRt = TENSORRT.exec(text);
  if (tensorRt !== null) {
    const [, month, day, year, hour, minute, second] = tensorRt;
    gaps.hasNoZone = true;
    return utcMs([year, month, day, hour, minute, second], undefined);
  }
  const yearless = YEARLESS.exec(text);
  if (yearless !== null) {
    const [, month, day, klogMonth, klogDay, hour, minute, second, fraction] = yearless;
    const thisYear = new Date(nowMs).getUTCFullYear();
    const rest = [month ?? klogMonth, day ?? klogDay, hour, minute, second];
    gaps.hasNoZone = true;
    gaps.hasNoYear = true;
    const ms = utcMs([String(thisYear), ...rest], fraction);
    return ms !== undefined && ms <= nowMs + DAY_MS ? ms : utcMs([String(thisYear - 1), ...rest], fraction);
  }
  const epoch = EPOCH.exec(text);
  if (epoch === null) return undefined;
  return epochMs(Number(epoch[1]) + Number(`0.${epoch[2] ?? epoch[3] ?? 0}`));
}

/** The time that a field of a JSON line has: text, or seconds, milliseconds, microseconds or nanoseconds since 1970. */
export function timeOfField(value: unknown, nowMs: number, gaps: TimeGaps): number | undefined {
  if (typeof value === 'number') return epochMs(value);
  if (typeof value !== 'string') return undefined;
  const quick = quickFullTime(value, gaps);
  if (quick !== undefined) return quick;
  return /^\d{10,19}(?:\.\d+)?$/.test(value) ? epochMs(Number(value)) : timeOf(value, nowMs, gaps);
}

function epochMs(value: number): number | undefined {
  const ms = [1_000, 1, 1e-3, 1e-6].map((factor) => value * factor).find(isOfOurYears);
  return ms === undefined ? undefined : Math.floor(ms);
}

function isOfOurYears(ms: number): boolean {
  return ms >= Date.UTC(FIRST_YEAR, 0) && ms < Date.UTC(LAST_YEAR + 1, 0);
}

function utcMs(parts: readonly (string | undefined)[], fraction: string | undefined): number | undefined {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.map(Number);
  if (year < FIRST_YEAR || year > LAST_YEAR || month < 1 || month > 12 || day < 1 || day > 31)
    return undefined;
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const ms = fraction === undefined ? 0 : Math.floor(Number(`0.${fraction}`) * 1_000);
  return Date.UTC(year, month - 1, day, hour, minute, second, ms);
}

function offsetMs(zone: string | undefined): number {
  if (zone === undefined || zone === 'Z' || zone === 'UTC') return 0;
  const sign = zone.startsWith('-') ? -1 : 1;
  return sign * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2))) * 60_000;
}
