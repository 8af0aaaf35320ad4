const THOUSAND = 1_000;
const SUFFIXES = ['', 'k', 'M', 'G', 'T'];

/** A number in at most five characters: `0`, `0.4`, `12`, `1.2k`, `34M`. */
export function shortNumber(number: number): string {
  if (!Number.isFinite(number)) return '-';
  if (number > 0 && number < 10) return number < 0.05 ? '0' : trimmed(number);
  let rest = number;
  let at = 0;
  while (rest >= THOUSAND && at < SUFFIXES.length - 1) {
    rest /= THOUSAND;
    at += 1;
  }
  const digits = at > 0 && rest < 10 ? trimmed(rest) : String(Math.round(rest));
  return `${digits}${SUFFIXES[at]}`;
}

/** A duration in at most six characters: `12ms`, `1.2s`, `34s`; `-` where there is none. */
export function shortDuration(ms: number | undefined): string {
  if (ms === undefined) return '-';
  if (ms < THOUSAND) return `${Math.round(ms)}ms`;
  const seconds = ms / THOUSAND;
  return seconds < 10 ? `${trimmed(seconds)}s` : `${Math.round(seconds)}s`;
}

/** A part of a whole: `83%`; `-` where there is no whole. */
export function percent(part: number, whole: number): string {
  return whole > 0 ? `${Math.round((100 * part) / whole)}%` : '-';
}

/** The time of day, as the machine's clock has it in UTC: `12:34:56`. */
export function timeOfDay(atMs: number): string {
  const time = new Date(atMs);
  return Number.isNaN(time.getTime()) ? '-' : time.toISOString().slice(11, 19);
}

function trimmed(number: number): string {
  return number.toFixed(1).replace(/\.0$/, '');
}
