// Reads what a bench prints, and sets two sets of runs side by side.

/** A line of `figure` and of `ratio` in bench/support/figures.ts: two spaces, what, value and unit, then maybe the floor. */
const LINE = /^ {2}(\S.*?) {2,}(-?[\d,.]+) (\S+(?: \S+)?)(?: {2}floor +(-?[\d,.]+) \S+ .*)?$/;

/** Two runs of the same program differ by this much on a machine that is shared; below it nothing is said to have changed. */
const LEAST_NOISE = 1.15;

/**
 * The figures of one run by `bench: title: what`, each with its ratio to the floor of the same run where it has one. A
 * title's own numbers are settings, and stay in it.
 */
export function figuresOf(bench, output) {
  const figures = new Map();
  let title = '';
  for (const line of output.split('\n')) {
    const [, what, value, unit, floor] = LINE.exec(line) ?? [];
    if (what === undefined) {
      if (/^\S/.test(line)) title = line.replace(/[;:,] .*$/, '');
      continue;
    }
    const number = Number(value.replaceAll(',', ''));
    const ratio = floor === undefined ? undefined : number / Number(floor.replaceAll(',', ''));
    const name = `${bench}: ${title}: ${what}`;
    // Rounds of one bench have the same names: the last one counts.
    figures.set(name, { number, unit, ratio });
  }
  return figures;
}

/** The middle one; the mean of the two middle ones. */
function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return Number.isInteger(middle) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[Math.floor(middle)];
}

/**
 * Rows of the table: each figure that both sides have, its medians, and whether the new one differs by more than runs of one
 * side differ. Where there is a floor, ratios to it are compared: other work on the machine hinders both.
 */
export function sideBySide(before, after) {
  const names = [...new Set(before.flatMap((run) => [...run.keys()]))];
  return names.flatMap((name) => {
    const [old, now] = [before, after].map((runs) => runs.flatMap((run) => run.get(name) ?? []));
    if (old.length === 0 || now.length === 0) return [];
    const { unit } = now[0];
    const hasFloor = [...old, ...now].every(({ ratio }) => ratio !== undefined);
    const compared = ({ number, ratio }) => (hasFloor ? ratio : number);
    const change = median(now.map(compared)) / median(old.map(compared));
    const spread = Math.max(...[old, now].map((runs) => spreadOf(runs.map(compared))));
    const noise = Math.max(LEAST_NOISE, spread);
    const isNoise = change <= noise && change >= 1 / noise;
    return [
      {
        name,
        before: `${text(median(old.map(({ number }) => number)))} ${unit}`,
        after: `${text(median(now.map(({ number }) => number)))} ${unit}`,
        change: `${change.toFixed(2)}x${hasFloor ? ' of the floor' : ''}`,
        verdict: isNoise ? 'within noise' : change > 1 ? '**higher**' : '**lower**',
      },
    ];
  });
}

/** The largest of some positive numbers by the smallest; 1 for a single one. */
function spreadOf(values) {
  return Math.max(...values) / Math.min(...values);
}

function text(value) {
  return value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2);
}

/** The table in Markdown. */
export function tableOf(rows) {
  return [
    '| figure | before | after | after / before | |',
    '|---|---|---|---|---|',
    ...rows.map(
      ({ name, before, after, change, verdict }) =>
        `| ${name.replaceAll('|', '\\|')} | ${before} | ${after} | ${change} | ${verdict} |`,
    ),
  ].join('\n');
}
