import { SettingError } from '../../app/setting-error.js';
import { withEscapes } from '../../core/text/printable.js';
import { nearestName } from '../../edge/platform/data/nearest-name.js';

/** Where a value came from. */
export type Origin =
  | { readonly type: 'flag' }
  | { readonly type: 'environment'; readonly variable: string }
  | { readonly type: 'config_file'; readonly path: string; readonly line: number }
  | { readonly type: 'default' };

/** `flag`, `KV_ACCORD_LISTEN`, `accord.yaml:3`, `default`. */
export function describeOrigin(origin: Origin): string {
  switch (origin.type) {
    case 'flag':
      return 'flag';
    case 'environment':
      return origin.variable;
    case 'config_file':
      return `${origin.path}:${origin.line}`;
    case 'default':
      return 'default';
  }
}

/** Makes the error for a value that a setting does not take. `value` undefined means that it must not be shown. */
export function wrongValue(
  name: string,
  value: string | undefined,
  origin: Origin,
  allowed: string,
  nearestWord?: string,
): SettingError {
  const hint = nearestWord === undefined ? '' : `; did you mean ${nearestWord}?`;
  return new SettingError(`--${name} ${describeGiven(value, origin)}: must be ${allowed}${hint}`);
}

function describeGiven(value: string | undefined, origin: Origin): string {
  if (origin.type === 'default')
    return value === undefined || value === '' ? '(not set)' : `${quote(value)} (default)`;
  const shown = value === undefined ? '(not shown, it may be a secret)' : quote(value);
  return `${shown} (${origin.type === 'flag' ? 'on the command line' : `from ${describeOrigin(origin)}`})`;
}

/** Longest value that a message repeats; more would hide the rest of the line. */
const MAX_QUOTED_LENGTH = 120;

/** A value for a one-line message: bounded, without passwords of URLs, and nothing in it can break the line. */
export function quote(value: string): string {
  const text = withoutPassword(value);
  const cut = text.length > MAX_QUOTED_LENGTH ? `${text.slice(0, MAX_QUOTED_LENGTH)}…` : text;
  const escaped = withEscapes(cut.replace(/["\\]/g, '\\$&'));
  return `"${escaped}"`;
}

/** Replaces the password in `scheme://user:password@host`, wherever one stands in the text. */
export function withoutPassword(text: string): string {
  return text.replace(/(:\/\/[^\s/:@]*):[^\s/@]*@/g, '$1:***@');
}

/** The known name that was most likely meant; undefined when none is near enough to be a help. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  if (name.length > MAX_QUOTED_LENGTH) return undefined;
  const best = nearestName(name, known);
  return best !== undefined && best.distance <= Math.max(2, Math.floor(name.length / 3))
    ? best.name
    : undefined;
}
