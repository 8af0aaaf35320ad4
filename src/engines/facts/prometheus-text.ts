import { excerpt } from '../../edge/platform/probe-error.js';

/** One line of a metric family. */
export interface MetricSample {
  readonly name: string;
  /** Unescaped values by exact label name. */
  readonly labels: ReadonlyMap<string, string>;
  /** The number as it was written: `1.79522419349e+09`. */
  readonly valueText: string;
}

/** What was read of a page of metrics. */
export interface MetricFamilies {
  /** Samples by exact metric name, in the order of the text. A name without samples is not in it. */
  readonly samples: ReadonlyMap<string, readonly MetricSample[]>;
  /** Lines of wanted families that could not be read, each as `line 7: …`. */
  readonly problems: readonly string[];
}

/** Largest page of an engine, in bytes: recorded ones have 70 KiB, and hundreds of adapters or ranks some MiB. */
export const MAX_METRICS_BYTES: number = 4 * 1024 * 1024;
/** Longest line of a wanted family, in characters; vLLM's cache_config_info has about 1,500. */
const MAX_LINE_CHARS = 64 * 1024;
/** Labels of one sample; vLLM's cache_config_info has 37. */
const MAX_LABELS = 256;
/** Samples of one family: one for each data-parallel engine or rank. */
const MAX_SAMPLES = 1_024;
/** Problems that are reported; a thousand broken lines are one fault. */
const MAX_PROBLEMS = 8;

/**
 * Reads some metrics by name out of the Prometheus text format 0.0.4, 1.0.0 or
 * OpenMetrics. One pass, no regular expressions over foreign text, and no
 * memory for families that no probe asked for: an engine has thousands of
 * histogram lines. Never throws: what cannot be read is a problem in the result.
 */
export function readMetrics(text: string, wanted: ReadonlySet<string>): MetricFamilies {
  const samples = new Map<string, MetricSample[]>();
  const problems: string[] = [];
  const report = (lineNumber: number, message: () => string): void => {
    if (problems.length < MAX_PROBLEMS) problems.push(`line ${lineNumber}: ${message()}`);
  };
  let start = 0;
  for (let lineNumber = 1; start < text.length; lineNumber += 1) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline;
    const nameEnd = endOfName(text, start, end);
    // Most lines are comments or empty, and cost no text of their own.
    const name = nameEnd === start ? '' : text.slice(start, nameEnd);
    if (name !== '' && wanted.has(name)) {
      const held = samples.get(name) ?? [];
      if (end - start > MAX_LINE_CHARS) {
        report(lineNumber, () => `${name} has a line of more than ${MAX_LINE_CHARS} characters`);
      } else if (held.length >= MAX_SAMPLES) {
        report(lineNumber, () => `${name} has more than ${MAX_SAMPLES} samples; the rest was not read`);
      } else {
        const sample = readSample(name, detached(text.slice(nameEnd, end)));
        if (sample === undefined)
          report(lineNumber, () => `cannot be read: ${excerpt(text.slice(start, end))}`);
        else {
          held.push(sample);
          samples.set(name, held);
        }
      }
    }
    start = end + 1;
  }
  return { samples, problems };
}

/**
 * A copy of a piece of text. A piece by itself keeps the whole text in memory
 * for as long as a fact that came from it is kept.
 */
function detached(piece: string): string {
  return Buffer.from(piece).toString();
}

/** Where the metric name that starts at `start` ends. Comment lines and quoted names give an empty name. */
function endOfName(text: string, start: number, end: number): number {
  let at = start;
  while (at < end && isNameChar(text.charCodeAt(at))) at += 1;
  return at;
}

function isNameChar(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) || // a-z
    (code >= 0x41 && code <= 0x5a) || // A-Z
    (code >= 0x30 && code <= 0x3a) || // 0-9 and the colon
    code === 0x5f
  );
}

/** Reads what follows the name: labels in braces or nothing, then the value. */
function readSample(name: string, rest: string): MetricSample | undefined {
  const labels = new Map<string, string>();
  let at = skipSpace(rest, 0);
  if (rest[at] === '{') {
    at = skipSpace(rest, at + 1);
    while (rest[at] !== '}') {
      const labelEnd = endOfName(rest, at, rest.length);
      const label = rest.slice(at, labelEnd);
      at = skipSpace(rest, labelEnd);
      if (label === '' || rest[at] !== '=' || labels.has(label) || labels.size === MAX_LABELS)
        return undefined;
      at = skipSpace(rest, at + 1);
      const quoted = readQuoted(rest, at);
      if (quoted === undefined) return undefined;
      labels.set(label, quoted.value);
      at = skipSpace(rest, quoted.end);
      if (rest[at] === ',') at = skipSpace(rest, at + 1);
      else if (rest[at] !== '}') return undefined;
    }
    at = skipSpace(rest, at + 1);
  }
  // A time stamp or an exemplar may follow the value; neither is of use here.
  let valueEnd = at;
  while (valueEnd < rest.length && !isSpace(rest.charCodeAt(valueEnd))) valueEnd += 1;
  const valueText = rest.slice(at, valueEnd);
  return valueText === '' ? undefined : { name, labels, valueText };
}

/** A value in double quotes with the escapes `\\`, `\"` and `\n`; any other backslash stands for itself. */
function readQuoted(text: string, start: number): { value: string; end: number } | undefined {
  if (text[start] !== '"') return undefined;
  let value = '';
  let copiedTo = start + 1;
  for (let at = start + 1; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') return { value: value + text.slice(copiedTo, at), end: at + 1 };
    if (char !== '\\') continue;
    const escaped = text[at + 1];
    if (escaped !== '\\' && escaped !== '"' && escaped !== 'n') continue;
    value += text.slice(copiedTo, at) + (escaped === 'n' ? '\n' : escaped);
    at += 1;
    copiedTo = at + 1;
  }
  return undefined;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (at < text.length && isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

/** Space, tab, and the carriage return of a text that went through Windows. */
function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0d;
}
