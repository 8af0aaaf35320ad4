const LEVELS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

/** A rate on one line: at most `maxChars` wide, a space where there was nothing. */
export function sparkline(counts: readonly number[], maxChars: number): string {
  const joined = narrowed(counts, maxChars);
  const most = Math.max(0, ...joined);
  return joined
    .map((count) => (count <= 0 ? ' ' : (LEVELS[Math.ceil((count / most) * LEVELS.length) - 1] ?? '█')))
    .join('');
}

/** The same counts in at most `maxBuckets`, neighbours added up. */
function narrowed(counts: readonly number[], maxBuckets: number): readonly number[] {
  const width = Math.max(1, Math.ceil(counts.length / Math.max(1, maxBuckets)));
  const result: number[] = [];
  counts.forEach((count, index) => {
    const at = Math.floor(index / width);
    result[at] = (result[at] ?? 0) + count;
  });
  return result;
}
