/** From nothing to the most, where the terminal shows Unicode, and where it does not. */
const BARS = '▁▂▃▄▅▆▇█';
const PLAIN_BARS = '_.,-=+*#';

/** Numbers as a row of bars, the newest last, at most `width` of them; the highest is the most of those shown. */
export function sparkline(numbers: readonly number[], width: number, isPlain = false): string {
  const bars = isPlain ? PLAIN_BARS : BARS;
  const shown = numbers.slice(-width);
  const most = Math.max(0, ...shown);
  return shown
    .map((number) => {
      const level = most <= 0 ? 0 : Math.ceil((Math.max(0, number) / most) * (bars.length - 1));
      return bars[Math.min(level, bars.length - 1)] ?? '';
    })
    .join('');
}
