/** `# HELP name …` and `# TYPE name …`. */
const COMMENT = /^# (?:HELP|TYPE) [A-Za-z_:][\w:]* /;
/** `name{label="value"} 1.5`, with a time behind it or without. */
const SAMPLE = /^[A-Za-z_:][\w:]*(?:\{.*\})? [-+]?(?:\d[\d.eE+-]*|Inf|NaN)(?: \d+)?$/;
const MIN_LINES = 3;

/** Whether a text begins as a page of metrics in the Prometheus format does: with such lines and no others. */
export function isMetricsText(start: string): boolean {
  // The last line of a piece may be cut.
  const lines = start.split(/\r?\n/).slice(0, start.endsWith('\n') ? undefined : -1);
  const written = lines.filter((line) => line.trim() !== '');
  return (
    written.length >= MIN_LINES &&
    written.some((line) => COMMENT.test(line) || line.includes('{')) &&
    written.every((line) => COMMENT.test(line) || SAMPLE.test(line))
  );
}
