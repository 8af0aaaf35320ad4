import { UNKNOWN, type Word } from '../shell/words.js';
import type { InnerText } from '../text/scalar-text.js';
import { interpolate } from './interpolate.js';

/** Lines of one file that are read. */
const MAX_LINES = 10_000;

/** `KEY=value`, also behind `export`; the value as it is written. */
const LINE = /^\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=[ \t]*(.*?)\s*$/;

/**
 * The variables of an environment file of Docker Compose:
 * https://docs.docker.com/compose/how-tos/environment-variables/variable-interpolation/#env-file-syntax.
 * Such files hold secrets: a place in one is never exact, so that no text of it is shown or changed.
 */
export function readEnvFile(text: InnerText): ReadonlyMap<string, Word> {
  const found = new Map<string, Word>();
  let start = 0;
  for (const line of text.value.split('\n').slice(0, MAX_LINES)) {
    const [, name, raw] = LINE.exec(line) ?? [];
    if (name !== undefined && raw !== undefined) {
      const span = { ...text.spanOf(start, start + line.length), isExact: false };
      const value = readValue(raw, (other) => found.get(other)?.value);
      found.set(name, { value, span, mayBeMore: false });
    }
    start += line.length + 1;
  }
  return found;
}

function readValue(raw: string, lookUp: (name: string) => string | undefined): string | undefined {
  const single = /^'((?:[^'\\]|\\.)*)'/.exec(raw)?.[1];
  if (single !== undefined) return single.replace(/\\'/g, "'");
  const double = /^"((?:[^"\\]|\\.)*)"/.exec(raw)?.[1];
  const open = double?.replace(/\\(["\\])/g, '$1') ?? raw.replace(/(?:^|\s)#.*$/, '').trimEnd();
  const value = interpolate(open, lookUp);
  return value.includes(UNKNOWN) ? undefined : value;
}
