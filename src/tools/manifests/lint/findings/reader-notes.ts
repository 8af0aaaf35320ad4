import type { Span } from '../text/span.js';

/**
 * A comment that leaves the number to anyone who copies the line: `# Change this to the page size`, `# Match your engine's block
 * size`. One that only says what has to hold (`# must match --block-size of the worker`) leaves nothing to anybody.
 */
const INSTRUCTION =
  /[#\s](?:please\s+|must\s+|should\s+)?(?:adjust|change|set|replace|update|edit|tune|override)\s.*\b(?:engine|backend|worker|model|router|frontend|deployment|block|page|size|value|this)|\byours?\b/i;

/** Characters of a comment that are looked at: what it asks stands at its beginning. */
const MAX_COMMENT_LENGTH = 300;

/** What fixes of `lint` itself write behind a number: it says what the number has to be, and asks nobody. */
const OWN_NOTE = /#\s*Must match (?:TRT-LLM|the workers|vLLM|SGLang|the backend)/;

/** Whether the line of a setting leaves its number to the reader: an example, and not what anybody runs. */
export function isLeftToReader({ source, start }: Span): boolean {
  const begin = source.text.lastIndexOf('\n', start - 1) + 1;
  const end = source.text.indexOf('\n', start);
  const line = source.text.slice(begin, end === -1 ? undefined : end);
  const comment = /(?:^|\s)(#.*)$/.exec(line)?.[1]?.slice(0, MAX_COMMENT_LENGTH);
  return comment !== undefined && INSTRUCTION.test(comment) && !OWN_NOTE.test(comment);
}
