/** How a program begins what it asks its operator to do. */
const ADVICE =
  /(?:^|[.!;:,)\]]\s{1,3}|\(|\b(?:or|and) )((?:(?:[Yy]ou (?:can|could|should|must|may|need to|may (?:need|want) to|might (?:need|want) to) )|(?:[Pp]lease )?(?:explicitly )?(?:try|consider|avoid|unset|switch to|re-?run with|run with|launch (?:with|without)|downgrade|make sure|ensure|set|use|increas\w+|reduc\w+|decreas\w+|rais\w+|lower\w*|install|upgrade|update|enable|disable|add|remove|specify|pass|provide|verify|configure|restart|check that|check if|check whether)\b(?! (?:of|to|is|was|has|failed|error|returned|request|operation|rejected|by)\b| (?:[\w-]{1,30} ){1,3}(?:must|should)\b))[^\n]{4,200})/i;
/** The same by words that are nouns or names elsewhere: at the beginning of a sentence, and before what is to be done with. */
const ORDER =
  /(?:^|[.!;…]\s{1,3})((?:Start|Run|Write|Give|Name|Point|Choose|Move|Keep|Mount|Grant|Leave|Replace|Rebuild|Rename|Turn|Register|Regenerate) (?:the|an?|each|every|it|this|these|one|all|both|your|fewer|more|with|without|only|off|on|\d{1,9}\w{0,4}|--[a-z][\w-]{1,40}|[A-Za-z][\w.]{0,60}[=_./]\S{1,80})\b[^\n]{4,200})/;
/** Advice that leads to nobody's deployment. */
const EMPTY =
  /\b(?:report|(?:file|open|raise|submit) (?:an? )?(?:\w+ )?(?:issue|bug|PR)|file and issue|submit an? |logs?\b.{0,20}\bdetails?|stack ?trace|traceback|root cause above|as well)\b/i;
const MAX_CHARS = 200;
/** What is kept of a sentence before its advice, and of the advice. */
const HEAD_CHARS = 90;
const KEPT_ADVICE_CHARS = 104;

/** What a line says to do, in its own words: "Try increasing `gpu_memory_utilization`"; undefined where it asks for nothing. */
export function ownAdviceIn(line: string): string | undefined {
  return foundIn(line)?.plain;
}

/** A sentence of at most so many characters: what it says to do is kept where it stands further back. */
export function shortenedBeforeAdvice(sentence: string, maxChars: number): string {
  if (sentence.length <= maxChars) return sentence;
  const { at, plain } = foundIn(sentence) ?? { at: 0, plain: '' };
  if (at + plain.length <= maxChars) return sentence.slice(0, maxChars);
  const kept = wordsOf(plain, KEPT_ADVICE_CHARS);
  // A part of it rather than half of a part.
  const whole = kept === plain ? kept : kept.replace(/(?<=.{40}),[^,]*$/, '');
  return `${wordsOf(sentence, HEAD_CHARS)} …; ${whole}`;
}

/** The first advice of a line, and where it begins. */
function foundIn(line: string): { readonly at: number; readonly plain: string } | undefined {
  const [first] = [ADVICE, ORDER]
    .map((pattern) => pattern.exec(line))
    .filter((match) => match !== null)
    .sort((a, b) => startOf(a) - startOf(b));
  const advice = first?.[1];
  if (first === undefined || advice === undefined) return undefined;
  const [sentence = advice] = advice.split(/(?<=[a-z0-9)"'`])[.;!](?:\s|$)/);
  const plain = sentence
    .replaceAll('"', "'")
    .replace(/[\s.,;:)]+$/, '')
    .slice(0, MAX_CHARS);
  return EMPTY.test(plain) ? undefined : { at: startOf(first), plain };
}

function startOf(match: RegExpExecArray): number {
  return match.index + match[0].length - (match[1]?.length ?? 0);
}

/** Cut behind a word. */
function wordsOf(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const end = text.lastIndexOf(' ', maxChars);
  return text.slice(0, end > 0 ? end : maxChars);
}
