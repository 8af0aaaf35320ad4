/** How a program begins what it asks its operator to do. */
const ADVICE =
  /(?:^|[.!;:,)\]]\s{1,3}|\(|\b(?:or|and) )((?:(?:[Yy]ou (?:can|could|should|must|may|need to|may (?:need|want) to|might (?:need|want) to) )|(?:[Pp]lease )?(?:explicitly )?(?:try|consider|avoid|unset|switch to|re-?run with|run with|launch (?:with|without)|downgrade|make sure|ensure|set|use|increas\w+|reduc\w+|decreas\w+|rais\w+|lower\w*|install|upgrade|update|enable|disable|add|remove|specify|pass|provide|verify|configure|restart|check that|check if|check whether)\b(?! (?:of|to|is|was|has|failed|error|returned|request|operation|rejected|by)\b| (?:[\w-]{1,30} ){1,3}(?:must|should)\b))[^\n]{4,200})/i;
/** Advice that leads to nobody's deployment. */
const EMPTY =
  /\b(?:report|(?:file|open|raise|submit) (?:an? )?(?:\w+ )?(?:issue|bug|PR)|file and issue|submit an? |logs?\b.{0,20}\bdetails?|stack ?trace|traceback|root cause above)\b/i;
const MAX_CHARS = 200;

/** What a line says to do, in its own words: "Try increasing `gpu_memory_utilization`"; undefined where it asks for nothing. */
export function ownAdviceIn(line: string): string | undefined {
  const advice = ADVICE.exec(line)?.[1];
  if (advice === undefined) return undefined;
  const [sentence = advice] = advice.split(/(?<=[a-z0-9)"'`])[.;!](?:\s|$)/);
  const plain = sentence
    .replaceAll('"', "'")
    .replace(/[\s.,;:)]+$/, '')
    .slice(0, MAX_CHARS);
  return EMPTY.test(plain) ? undefined : plain;
}
