import type { NamedText } from '../../manifests/lint/fixes/apply-fixes.js';
import type { KnownFaultSighting } from '../logs/log-summary.js';

/** Lines that are looked at: what a person pastes to compare. */
const MAX_LINES = 400;
const MAX_LINE_CHARS = 2_000;
/** The two sides of a comparison. */
const OLD = /^\s{0,8}[-<] ?(?=\S)/;
const NEW = /^\s{0,8}[+>] ?(?=\S)/;
/** What is another one in each request: a time of day, with the date or without; a number of seconds since 1970; a random id. */
const CHANGES =
  /\b(?:\d{4}-\d\d-\d\d[T ])?\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?[AaPp]\.?[Mm]\b\.?|Z|[+-]\d\d:?\d\d)?|\b1[6-9]\d{8}(?:\d{3}|\.\d{1,9})?\b|\b[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}\b/g;
/** Where a prompt of the system is written down. */
const OF_SYSTEM =
  /SystemMessage\(|["']role\\?["']: ?\\?["'](?:system|developer)\\?["']|\bsystem[ _-]?prompt\b/i;
/** Differences of code, of objects in a cluster and of logs, which are nobody's prompt. */
const NO_PROMPT =
  /sha256|digest|resourceVersion|uid\b|image:|[tT]imestamp["']?:|\bcommit\b|\b(?:INFO|WARN(?:ING)?|ERROR|DEBUG)\b|^\W{0,3}\d|^\W{0,3}[A-Z][a-z]{2} \d/;
const IS_CODE = /^(?:diff --git |@@ -\d|\+\+\+ |--- a\/)/m;

/**
 * Two copies of one beginning of a prompt that differ in a time, a counter or a random id alone, as a person compares them: a line with
 * `-` above one with `+`, or two lines of a system's prompt. What the prompt says is not kept.
 */
export async function quotedPrompts({ file, text }: NamedText): Promise<readonly KnownFaultSighting[]> {
  const lines = text.split(/\r?\n/, MAX_LINES + 1);
  if (lines.length > MAX_LINES || IS_CODE.test(text)) return [];
  const found = comparedLines(lines) ?? promptLines(lines);
  if (found === undefined) return [];
  const { CHANGING_HEAD: fault } = await import('../known-faults/prompt-heads.js');
  const { at, values } = found;
  const first = { place: `${file}:${at + 1}`, text: `… ${values[0]} …` };
  return [{ fault, count: 1, first, firstLine: at + 1, values, about: fault.id }];
}

interface Difference {
  /** The index of the second line. */
  readonly at: number;
  /** What each of both has in the place that differs. */
  readonly values: readonly [string, string];
}

function comparedLines(lines: readonly string[]): Difference | undefined {
  for (let at = 1; at < lines.length; at += 1) {
    const [before = '', after = ''] = [lines[at - 1], lines[at]];
    if (!OLD.test(before) || !NEW.test(after)) continue;
    const values = differenceOf(before.replace(OLD, ''), after.replace(NEW, ''));
    if (values !== undefined) return { at, values };
  }
  return undefined;
}

function promptLines(lines: readonly string[]): Difference | undefined {
  const shown = lines.flatMap((line, at) => (OF_SYSTEM.test(line) ? [{ line, at }] : []));
  for (const [index, { line, at }] of shown.entries()) {
    const before = shown[index - 1]?.line;
    const values = before === undefined ? undefined : differenceOf(before, line);
    if (values !== undefined) return { at, values };
  }
  return undefined;
}

/** What two lines have in the first place that differs, where nothing else of them does. */
function differenceOf(before: string, after: string): readonly [string, string] | undefined {
  if (Math.max(before.length, after.length) > MAX_LINE_CHARS) return undefined;
  if (NO_PROMPT.test(before) || NO_PROMPT.test(after)) return undefined;
  if (before.replace(CHANGES, '#') !== after.replace(CHANGES, '#')) return undefined;
  const [olds, news] = [before.match(CHANGES) ?? [], after.match(CHANGES) ?? []];
  const place = olds.findIndex((one, index) => one !== news[index]);
  const [old, changed] = [olds[place], news[place]];
  return old === undefined || changed === undefined ? undefined : [old.trim(), changed.trim()];
}
