import { jsonText } from '../../core/text/printable.js';
import { DiscoveryError } from './discovery-error.js';

/** Longest part of a wrong value that a message repeats. */
const MAX_QUOTED_CHARS = 120;

/** The error for a target that is none: the value, then what is wrong with it. */
export function wrongTarget(text: string, problem: string): DiscoveryError {
  return new DiscoveryError('invalid_target', `${quoteTarget(text)} ${problem}`);
}

/** A target as messages repeat it. */
export function quoteTarget(text: string): string {
  return jsonText(text.length > MAX_QUOTED_CHARS ? `${text.slice(0, MAX_QUOTED_CHARS)}…` : text);
}
