import { onOneLine } from '../../../../core/text/printable.js';
import { type Html, html } from '../../../../edge/http/html.js';
import { countOf, countText, shareText, timeOfDayText } from '../figures.js';
import type { MemorySlice } from '../memory-slices.js';
import type { SizeRow } from '../size-rows.js';

/** Units of every plot's own grid; the page scales them. */
const WIDTH = 520;
const LABEL_CHARS = 19;

/** Readers who cannot see it get the sentence; the numbers stand in the table below it. */
function svg(height: number, title: string, content: readonly Html[]): Html {
  return html`<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${title}"><title>${title}</title>${content}</svg>`;
}

function coordinate(value: number): string {
  return Number.isFinite(value) ? value.toFixed(1) : '0';
}

/** Strips of blocks, one under the other: where their ends do not meet, hashes cannot. */
export function blockRuler(rows: readonly SizeRow[]): Html {
  const shown = rows.filter(({ tokensPerBlock }) => tokensPerBlock > 0).slice(0, 6);
  const sizes = [...new Set(shown.map(({ tokensPerBlock }) => tokensPerBlock))].sort((a, b) => a - b);
  const largest = sizes.at(-1) ?? 1;
  // Two of the largest, but no more blocks than one can see.
  const tokens = Math.max(largest, Math.min(2 * largest, 32 * (sizes[0] ?? 1)));
  const left = 150;
  const room = WIDTH - left - 40;
  const strips = shown.map(({ side, who, tokensPerBlock }, row) => {
    const y = 22 + row * 40;
    const count = Math.min(32, Math.ceil(tokens / tokensPerBlock));
    const tone = `size-${Math.min(3, sizes.indexOf(tokensPerBlock))}`;
    const cells = Array.from({ length: count }, (_, index) => {
      const from = (index * tokensPerBlock * room) / tokens;
      const width = Math.min(room - from, (tokensPerBlock * room) / tokens);
      return html`<rect class="${tone}" x="${coordinate(left + from)}" y="${y}" width="${coordinate(Math.max(1, width - 2))}" height="24" rx="3"/>`;
    });
    return html`<text x="0" y="${y + 11}" class="strong">${side}</text><text x="0" y="${y + 24}" class="faint">${shortened(who === '-' ? '' : who)}</text>${cells}<text x="${WIDTH}" y="${y + 17}" class="strong end">${tokensPerBlock}</text>`;
  });
  const alternative = shown
    .map(({ side, who, tokensPerBlock }) => `${side} ${who}: ${tokensPerBlock}`)
    .join('; ');
  return svg(22 + shown.length * 40, `Tokens per block on every side: ${alternative}`, [
    html`<text x="${left}" y="12" class="faint">the first ${countText(tokens)} tokens of a prompt</text><text x="${WIDTH}" y="12" class="faint end">tokens</text>`,
    ...strips,
  ]);
}

/** A curve: one value for each span of time. */
export interface Buckets {
  readonly startMs: number | undefined;
  readonly bucketMs: number;
  /** NaN where nothing can be said of a bucket. */
  readonly values: readonly number[];
}

/** Bars over time. */
export function barsOverTime(title: string, buckets: Buckets, tone: string): Html {
  const { values } = buckets;
  const most = mostOf(values);
  const step = WIDTH / Math.max(1, values.length);
  const path = values
    .map((value, index) => {
      if (!(value > 0)) return '';
      const height = Math.max(1.5, (value / most) * 84);
      return `M${coordinate(index * step)} 100v${coordinate(-height)}h${coordinate(Math.max(0.8, step * 0.82))}v${coordinate(height)}z`;
    })
    .join('');
  return svg(120, `${title}: at most ${countText(most)} in ${bucketText(buckets)}`, [
    ...axes(buckets, most),
    html`<path class="${tone}" d="${path}"/>`,
  ]);
}

/** A line over time, broken where nothing can be said. */
export function lineOverTime(title: string, buckets: Buckets, tone: string): Html {
  const { values } = buckets;
  const most = Math.max(1, mostOf(values));
  const step = WIDTH / Math.max(1, values.length);
  let isDrawing = false;
  let path = '';
  values.forEach((value, index) => {
    const isKnown = Number.isFinite(value);
    if (isKnown) {
      const y = coordinate(100 - (value / most) * 84);
      // A bucket wide, so that one that stands alone is seen.
      path += `${isDrawing ? 'L' : 'M'}${coordinate(index * step)} ${y}h${coordinate(step)}`;
    }
    isDrawing = isKnown;
  });
  return svg(120, `${title}: at most ${mostOf(values).toFixed(1)}`, [
    ...axes(buckets, most),
    html`<path class="line ${tone}" d="${path}"/>`,
  ]);
}

function axes(buckets: Buckets, most: number): readonly Html[] {
  const { startMs, bucketMs, values } = buckets;
  const end = startMs === undefined ? undefined : startMs + bucketMs * values.length;
  return [
    html`<path class="grid" d="M0 16H${WIDTH}M0 58H${WIDTH}M0 100H${WIDTH}"/><text x="0" y="11" class="faint">${most >= 10 ? countText(most) : most.toFixed(1).replace(/\.0$/, '')}</text>`,
    html`<text x="0" y="116" class="faint">${startMs === undefined ? 'first line' : `${timeOfDayText(startMs)} UTC`}</text><text x="${WIDTH}" y="116" class="faint end">${end === undefined ? 'last line' : timeOfDayText(end)}</text>`,
  ];
}

function mostOf(values: readonly number[]): number {
  return Math.max(0, ...values.filter(Number.isFinite));
}

/** What one bucket spans: `10 s`; a log without times has lines in place of milliseconds. */
export function bucketText({ startMs, bucketMs }: Buckets): string {
  if (startMs === undefined) return 'one step';
  return bucketMs >= 60_000 ? `${countText(bucketMs / 60_000)} min` : `${countText(bucketMs / 1000)} s`;
}

/** Who got how many. */
export function bars(title: string, entries: readonly (readonly [name: string, count: number])[]): Html {
  const total = entries.reduce((sum, [, count]) => sum + count, 0);
  const most = Math.max(1, ...entries.map(([, count]) => count));
  const left = 150;
  const room = WIDTH - left - 110;
  const rows = entries.map(([name, count], index) => {
    const y = 4 + index * 28;
    return html`<text x="0" y="${y + 15}" class="strong">${shortened(name)}</text><rect class="tone-decisions" x="${left}" y="${y}" width="${coordinate(Math.max(2, (count / most) * room))}" height="20" rx="3"/><text x="${WIDTH}" y="${y + 15}" class="end">${countText(count)} (${shareText(total === 0 ? 0 : count / total)})</text>`;
  });
  const alternative = entries.map(([name, count]) => `${onOneLine(name)} ${countText(count)}`).join(', ');
  return svg(4 + entries.length * 28, `${title}: ${alternative}`, rows);
}

/** One bar out of parts, with its legend. */
export function stackedBar(title: string, slices: readonly MemorySlice[]): Html {
  const total = slices.reduce((sum, { value }) => sum + value, 0);
  let x = 0;
  const parts = slices.map(({ value, kind }) => {
    const width = total <= 0 ? 0 : (value / total) * WIDTH;
    const part = html`<rect class="tone-${kind}" x="${coordinate(x)}" y="0" width="${coordinate(Math.max(0, width - 2))}" height="34" rx="4"/>`;
    x += width;
    return part;
  });
  const legend = slices.map(
    ({ name, shown, kind }, index) =>
      html`<rect class="tone-${kind}" x="0" y="${46 + index * 22}" width="12" height="12" rx="3"/><text x="20" y="${56 + index * 22}">${name}</text><text x="${WIDTH}" y="${56 + index * 22}" class="strong end">${shown}</text>`,
  );
  const alternative = slices.map(({ name, shown }) => `${name} ${shown}`).join(', ');
  return svg(46 + slices.length * 22, `${title}: ${alternative}. ${countOf(slices.length, 'part')}.`, [
    ...parts,
    ...legend,
  ]);
}

function shortened(text: string): string {
  return onOneLine(text, LABEL_CHARS);
}
