/** Whether only a short run was asked for: `--quick`, or `KV_ACCORD_BENCH_QUICK=1`. */
export const IS_QUICK: boolean =
  process.argv.includes('--quick') || (process.env['KV_ACCORD_BENCH_QUICK'] ?? '') !== '';

/** The middle value; the mean of the two middle ones. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? (upper + (sorted[middle - 1] ?? upper)) / 2 : upper;
}

/** Prints what is measured and how. */
export function title(text: string): void {
  console.log(`\n${text}`);
}

/** Prints one figure without a floor. */
export function figure(what: string, value: number, unit: string): void {
  console.log(`  ${what.padEnd(WHAT_CHARS)} ${format(value, unit)}`);
}

/** Prints one figure beside its floor of the same run; `aim` is the largest ratio that is wanted. */
export function ratio(what: string, value: number, floor: number, unit: string, aim: number): void {
  const times = value / floor;
  const verdict = times <= aim ? 'met' : 'MISSED';
  console.log(
    `  ${what.padEnd(WHAT_CHARS)} ${format(value, unit)}  floor ${format(floor, unit)}  ${times.toFixed(2)}x (aim ${aim.toFixed(2)}x, ${verdict})`,
  );
}

const WHAT_CHARS = 44;

function format(value: number, unit: string): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`.padStart(10);
}
