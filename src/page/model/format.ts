/** `1,234`, `12.3 k`, `4.56 M`: at most four characters before the unit. */
export function shortNumber(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size < 10_000)
    return value.toLocaleString('en-US', { maximumFractionDigits: size < 10 ? 2 : size < 100 ? 1 : 0 });
  for (const [unit, scale] of [
    ['G', 1e9],
    ['M', 1e6],
    ['k', 1e3],
  ] as const)
    if (size >= scale)
      return `${trimmed(value / scale, size / scale < 10 ? 2 : size / scale < 100 ? 1 : 0)} ${unit}`;
  return String(value);
}

/** With at most so many digits after the point, and no zeros at the end. */
function trimmed(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)));
}

/** Every digit: `1,234,567`. */
export function fullNumber(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 0 });
}

/** `0.4 %`, `87 %`; a dash where there is nothing to divide by. */
export function percent(part: number, whole: number): string {
  if (!(whole > 0)) return '–';
  const share = (100 * part) / whole;
  return `${share.toFixed(share > 0 && share < 10 ? 1 : 0)} %`;
}

/** `850 ms`, `1.2 s`. */
export function duration(ms: number | undefined): string {
  if (ms === undefined || !Number.isFinite(ms)) return '–';
  if (ms < 10) return `${trimmed(ms, 1)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

/** `12 s ago`, `3 min ago`, `2 h ago`, `4 d ago`. */
export function ago(ms: number): string {
  return `${inOneUnit(ms)} ago`;
}

/** `12 s`, `3 min`, `2 h`, `4 d`. */
export function inOneUnit(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** `12:03:45` of the reader's own time zone. */
export function clockTime(wallMs: number): string {
  return new Date(wallMs).toLocaleTimeString('en-GB');
}

/** `80 GiB`. */
export function gibibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 30)} GiB`;
}
