import { clip } from '../text/lists.js';
import { withoutControls } from '../text/printable.js';
import { VIEW_LIMITS } from './view-document.js';

/**
 * A text from anywhere as the view has it: cut to its bound, with U+FFFD in place of control characters and of those that
 * turn the direction of writing, so that no page or terminal is steered by it. Line feeds stay.
 */
export function shownText(text: string, maxChars: number): string {
  return withoutControls(clip(text, maxChars)).replace(/\t/g, ' ');
}

/** The same on one line; a name has 256 characters at most unless `maxChars` says otherwise. */
export function shownLine(text: string, maxChars: number = VIEW_LIMITS.nameChars): string {
  return shownText(text, maxChars).replace(/\s+/g, ' ');
}
