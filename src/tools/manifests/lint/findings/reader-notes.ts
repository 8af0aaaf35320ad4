import type { Span } from '../text/span.js';

/** A comment that asks anyone who copies the line for the number: `# Match your engine's block size`. */
const INSTRUCTION =
  /#\s*(?:(?:please\s+|must\s+|should\s+)?(?:match(?:es)?|adjust|change|set|replace|update|edit|tune|override)\b.*\b(?:engine|backend|worker|model|router|frontend|deployment|block|page|size|value|this)|.*\byours?\b)/i;

/** What fixes of `lint` itself write behind a number: it says what the number has to be, and asks nobody. */
const OWN_NOTE = /#\s*Must match (?:TRT-LLM|the workers|vLLM|SGLang|the backend)/;

/** Whether the line of a setting leaves its number to the reader: an example, and not what anybody runs. */
export function isLeftToReader({ source, start }: Span): boolean {
  const begin = source.text.lastIndexOf('\n', start - 1) + 1;
  const end = source.text.indexOf('\n', start);
  const line = source.text.slice(begin, end === -1 ? undefined : end);
  const comment = /(?:^|\s)(#.*)$/.exec(line)?.[1];
  return comment !== undefined && INSTRUCTION.test(comment) && !OWN_NOTE.test(comment);
}
