import type { PlacedText } from '../../pod-site.js';
import { UNKNOWN, type Word, wordOfText } from '../shell/words.js';
import { locateScalar } from '../text/scalar-text.js';
import type { Located, TextSource } from '../text/span.js';

/** A word of `command` or `args`; Kubernetes puts variables in for `$(NAME)`. */
export function wordOf(
  source: TextSource,
  text: PlacedText,
  env: ReadonlyMap<string, Located | undefined>,
): Word {
  const { value, span } = locateScalar(source, text);
  const expanded = expand(value, env);
  if (expanded === value && !value.includes(UNKNOWN)) return { value, span, mayBeMore: false };
  if (expanded !== undefined) return wordOfText(expanded, { ...span, isExact: false }, false);
  const unknown = value.indexOf('$(');
  const known = { prefix: value.slice(0, unknown), suffix: value.slice(value.lastIndexOf(')') + 1) };
  return { value: undefined, span: { ...span, isExact: false }, mayBeMore: false, known };
}

/** Longest text that variables are put into: arguments of a process end at 128 KiB each. */
const MAX_EXPANDED_LENGTH = 128 * 1024;

/** A text with its variables; `UNKNOWN` for one whose value is not in the manifest. Undefined for what no process could be given. */
export function expand(text: string, env: ReadonlyMap<string, Located | undefined>): string | undefined {
  let length = text.length;
  const result = text.replace(/\$\$|\$\(([A-Za-z_][\w.-]*)\)/g, (whole, name: string | undefined) => {
    if (name === undefined || !env.has(name)) {
      return whole === '$$' ? '$' : whole;
    }
    const value = env.get(name)?.value;
    length += value?.length ?? 0;
    return length > MAX_EXPANDED_LENGTH ? '' : (value ?? UNKNOWN);
  });
  return length > MAX_EXPANDED_LENGTH ? undefined : result;
}
