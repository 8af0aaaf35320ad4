import type { Clock } from '../../../edge/platform/clock.js';
import type { LogSummary } from '../logs/log-summary.js';
import { readLog } from '../logs/read-log.js';

/** A text of more lines is a log. */
const MAX_LINES = 12;
const MAX_LINE_CHARS = 1_000;
/** What a program puts in front of a sentence with which it ends, in a form that rules know. */
const TYPE = 'RuntimeError: ';
/** What only sentences about faults say. */
const FAULT =
  /\b(?:(?:is|are|does|do|did|has|have|was|were|can|could|may) ?n(?:o|')t\b|cannot\b|unsupported|incompatible|invalid|must (?:be|have|match|not)|requires?\b|required\b|unable to|failed|failure|refused|denied|missing|mismatch|insufficient|not (?:yet )?(?:supported|compatible|enough|found|allowed|provided|available)|no (?:such|space|module|available)\b|unknown|unrecognized|exceeds?\b|too (?:large|small|many|few|long|short)|(?:larger|greater|smaller) than|already in use|timed out|timeout\b|errors?\b|closed by\b|no longer\b|unauthorized|out of memory|mutually exclusive|only supports?\b|no \w{2,40}(?: \w{2,40}){0,3} (?:provided|available|left|found))/i;
/** A line of a log, a command, a figure, a setting, JSON, source code, or what has its type already. */
const NO_SENTENCE =
  /^\s{0,8}(?:[{<|$#>+]|\[(?!Errno |SSL: )|[IWDEF]\d{4} |\d{4}[-/]\d\d[-/]\d\d|[\w ()/%.-]{1,60}[:=|]\s{0,8}[-$]?\d[\d.,]{0,20} ?(?:%|\w{0,8})\s{0,8}(?:$|[,;|])|(?:export |sudo |docker |kubectl |curl |pip |python3? |vllm |sglang )|(?:\w{1,60}\.){0,8}\w{0,60}(?:Error|Exception)(?:[:(]|\s{0,8}$)|(?:Warning|Normal)\s|- |(?:[Ii]f|return|assert|throw|else|raise)\b|--?[\w-]{1,60} [A-Z_]{3,})|\braise \w|<<|;\s{0,8}$|\becho\b|\$\{| # |\b(?:INFO|WARN|WARNING|DEBUG|TRACE|NOTICE)\b|\b(?:0|no) (?:failed|errors?|failures?)\b|\bfailed\W{1,20}0\b/;

/** Whether nothing of a log was understood, and none of its lines has the form of a program's. */
export function saysNothing(log: LogSummary): boolean {
  const { signals, failures = [], knownFaults = [], unexplainedErrors, decisions, engine } = log;
  const isKnown = [...log.programs.keys()].some((program) => program !== 'unknown');
  const settled = failures.length + knownFaults.length + log.sizes.length + log.settings.length;
  const seen = unexplainedErrors ?? decisions ?? engine;
  return signals.size === 0 && settled === 0 && seen === undefined && !isKnown;
}

/**
 * What the rules for errors make of a text that is nothing but a sentence or two, as people quote an error without its
 * logger and its type; undefined where they make nothing of it, or where the text is something else.
 */
export async function readBareSentences(
  name: string,
  text: string,
  modules: { readonly clock: Clock },
): Promise<LogSummary | undefined> {
  const lines = text.split('\n');
  if (lines.filter((line) => line.trim() !== '').length > MAX_LINES) return undefined;
  const typed = lines.map((line) => (isSentence(line) ? `${TYPE}${line.trim()}` : line));
  if (typed.every((line, at) => line === lines[at])) return undefined;
  const bytes = Buffer.from(typed.join('\n'));
  const pieces = (async function* () {
    yield bytes;
  })();
  const summary = await readLog({ name, totalBytes: bytes.length, pieces }, {}, modules);
  // An error of no known kind is no more than the sentence was.
  const { unexplainedErrors: _unknown, ...known } = summary;
  return saysNothing(known) ? undefined : withoutType(known);
}

function isSentence(line: string): boolean {
  return line.length <= MAX_LINE_CHARS && FAULT.test(line) && !NO_SENTENCE.test(line);
}

/** The same without what was put in front: nobody wrote it. */
function withoutType<T>(value: T): T {
  return plain(value) as T;
}

function plain(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll(TYPE, '');
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) return new Map([...value].map(([key, one]) => [plain(key), plain(one)]));
  if (value === null || typeof value !== 'object' || value instanceof RegExp) return value;
  // A row of a known fault has its own words.
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, key === 'fault' ? one : plain(one)]),
  );
}
