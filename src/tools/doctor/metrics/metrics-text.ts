import { WANTED_METRICS } from './known-pages.js';

/** `# HELP name …` and `# TYPE name …`. */
const COMMENT = /^# (?:HELP|TYPE) [A-Za-z_:][\w:]* /;
/** `name{label="value"} 1.5`, with a time behind it or without. */
const SAMPLE = /^[A-Za-z_:][\w:]*(?:\{.*\})? +[-+]?(?:\d[\d.eE+-]*|Inf|NaN)(?: \d+)?$/;
/** The same with words that a person wrote behind the number. */
const NOTED_SAMPLE = /^([A-Za-z_:][\w:]*)(?:\{.*\})? +[-+]?\d[\d.eE+-]*(?:\s|$)/;
const MIN_LINES = 3;

/**
 * Whether a text begins as a page of metrics in the Prometheus format does: with such lines and no others, or with lines
 * half of which are metrics that the doctor knows, as a person quotes some of a page.
 */
export function isMetricsText(start: string): boolean {
  const lines = start.split(/\r?\n/).map((line) => line.trim());
  // The last line of a piece may be cut.
  const whole = lines.length > 1 && !start.endsWith('\n') ? lines.slice(0, -1) : lines;
  const written = whole.filter((line) => line !== '');
  const known = written.filter((line) => WANTED_METRICS.has(NOTED_SAMPLE.exec(line)?.[1] ?? ''));
  const isQuoted = known.length > 0 && known.length * 2 >= written.length;
  return (
    isQuoted ||
    (written.length >= MIN_LINES &&
      written.some((line) => COMMENT.test(line) || line.includes('{')) &&
      written.every((line) => COMMENT.test(line) || SAMPLE.test(line)))
  );
}

/** Digits in groups, as a person or a table writes them: `442,227`. */
const GROUPED = /(?<=[\s|]\d{1,3}(?:,\d{3}){0,4}),(?=\d{3}(?:\D|$))/g;

/** The lines of a text that are metrics which the doctor knows, in the form of a page. */
export function quotedSamples(text: string): readonly string[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const plain = line.trim().replace(GROUPED, '');
    const [sample, name = ''] = NOTED_SAMPLE.exec(plain) ?? [];
    return sample !== undefined && WANTED_METRICS.has(name) ? [sample.trim()] : [];
  });
}
