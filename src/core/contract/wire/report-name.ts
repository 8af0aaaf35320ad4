import { hasUnprintable } from '../../text/printable.js';
import { MAX_NAME_CHARS } from './report-limits.js';

/** Whether a text may stand in a report as a name: not empty, within `MAX_NAME_CHARS`, without control characters. */
export function isName(name: string): boolean {
  return name !== '' && name.length <= MAX_NAME_CHARS && !hasUnprintable(name);
}
