/** What lines' times lack; each is said once in the summary. */
export interface TimeGaps {
  hasNoZone: boolean;
  hasNoYear: boolean;
}

/** Years that a log can be of; what is outside is no time. */
export const FIRST_YEAR = 2015;
/** See `FIRST_YEAR`. */
export const LAST_YEAR = 2099;

/** Milliseconds of a day. */
export const DAY_MS = 86_400_000;

const SPACE = 32;
const OPENING_PARENTHESIS = 40;
const COMMA = 44;
const HYPHEN = 45;
const DOT = 46;
const CAPITAL_U = 85;
const CAPITAL_Z = 90;
const OPENING_BRACKET = 91;

/** Digits of a fraction of a second that are read; more are no fraction. */
const MAX_FRACTION_DIGITS = 9;
/** Characters of `(EngineCore pid=7) ` at most. */
const LONGEST_PROCESS = 84;

/** The day that was read last: logs have few. */
class LastDay {
  #day = Number.NaN;
  #ms: number | undefined;

  /** The first moment of a day, which is given as the number 20260216. */
  msOf(day: number): number | undefined {
    if (day !== this.#day) {
      this.#day = day;
      this.#ms = dayMs(day);
    }
    return this.#ms;
  }
}

const fullDay = new LastDay();
const dayOfThisYear = new LastDay();
const dayOfLastYear = new LastDay();
let thisYear = { nowMs: Number.NaN, year: 0 };

/**
 * `2026-02-16T14:38:53.950961Z` and `[2026-02-16 14:38:53`, the forms of nearly all lines of large logs, without a
 * regular expression. Undefined for every other form, and for what is no such time.
 */
export function quickFullTime(text: string, gaps: TimeGaps): number | undefined {
  const at = text.charCodeAt(0) === OPENING_BRACKET ? 1 : 0;
  const between = text.charCodeAt(at + 10);
  if (between !== 84 && between !== SPACE) return undefined;
  const timeMs = timeOfDay(text, at + 11);
  if (timeMs === undefined) return undefined;
  const day = fullDay.msOf(dayOf(text, at));
  if (day === undefined) return undefined;
  let end = at + 19;
  let fractionMs = 0;
  const sign = text.charCodeAt(end);
  if (sign === DOT || sign === COMMA) {
    const from = end + 1;
    end = from;
    while (isDigit(text.charCodeAt(end))) end += 1;
    const digits = end - from;
    if (digits === 0 || digits > MAX_FRACTION_DIGITS) return undefined;
    for (let place = 0, worth = 100; place < 3 && place < digits; place += 1, worth /= 10)
      fractionMs += (text.charCodeAt(from + place) - 48) * worth;
  }
  const zone = text.charCodeAt(end);
  if (zone !== CAPITAL_Z) {
    if (mayBeZone(zone) || (zone === SPACE && mayBeZone(text.charCodeAt(end + 1)))) return undefined;
    gaps.hasNoZone = true;
  }
  return day + timeMs + fractionMs;
}

/** `INFO 11-21 17:33:09 [core.py:1]` of vLLM, also behind the name of a process. Undefined for every other form. */
export function quickYearlessTime(text: string, nowMs: number, gaps: TimeGaps): number | undefined {
  let at = 0;
  if (text.charCodeAt(0) === OPENING_PARENTHESIS) {
    at = text.indexOf(') ') + 2;
    if (at < 4 || at > LONGEST_PROCESS || text.lastIndexOf('(', at) !== 0) return undefined;
  }
  if (!text.startsWith('INFO ', at)) return undefined;
  at += 5;
  if (text.charCodeAt(at + 5) !== SPACE || text.charCodeAt(at + 14) !== SPACE) return undefined;
  const timeMs = timeOfDay(text, at + 6);
  if (timeMs === undefined) return undefined;
  if (thisYear.nowMs !== nowMs) thisYear = { nowMs, year: new Date(nowMs).getUTCFullYear() };
  const monthAndDate = monthAndDateOf(text, at);
  const day = dayOfThisYear.msOf(thisYear.year * 10_000 + monthAndDate);
  if (day === undefined) return undefined;
  gaps.hasNoZone = true;
  gaps.hasNoYear = true;
  if (day + timeMs <= nowMs + DAY_MS) return day + timeMs;
  const before = dayOfLastYear.msOf((thisYear.year - 1) * 10_000 + monthAndDate);
  return before === undefined ? undefined : before + timeMs;
}

/** `2026-02-16` as the number 20260216; NaN for what is no such text. */
function dayOf(text: string, at: number): number {
  if (text.charCodeAt(at + 4) !== HYPHEN) return Number.NaN;
  return twoDigits(text, at) * 1_000_000 + twoDigits(text, at + 2) * 10_000 + monthAndDateOf(text, at + 5);
}

/** `02-16` as the number 216; NaN for what is no such text. */
function monthAndDateOf(text: string, at: number): number {
  if (text.charCodeAt(at + 2) !== HYPHEN) return Number.NaN;
  return twoDigits(text, at) * 100 + twoDigits(text, at + 3);
}

function dayMs(day: number): number | undefined {
  const year = Math.floor(day / 10_000);
  const month = Math.floor(day / 100) % 100;
  const date = day % 100;
  const isDay =
    year >= FIRST_YEAR && year <= LAST_YEAR && month >= 1 && month <= 12 && date >= 1 && date <= 31;
  return isDay ? Date.UTC(year, month - 1, date) : undefined;
}

/** `14:38:53` in milliseconds; undefined for what is no time of a day. */
function timeOfDay(text: string, at: number): number | undefined {
  if (text.charCodeAt(at + 2) !== 58 || text.charCodeAt(at + 5) !== 58) return undefined;
  const hour = twoDigits(text, at);
  const minute = twoDigits(text, at + 3);
  const second = twoDigits(text, at + 6);
  // What is no number is NaN, which is not less than anything.
  if (!(hour < 24 && minute < 60 && second < 61)) return undefined;
  return hour * 3_600_000 + minute * 60_000 + second * 1_000;
}

/** `Z` apart: `UTC`, `+01:00`, `-0530`. */
function mayBeZone(code: number): boolean {
  return code === CAPITAL_U || code === CAPITAL_Z || code === 43 || code === 45;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48;
  const ones = text.charCodeAt(at + 1) - 48;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN;
}
