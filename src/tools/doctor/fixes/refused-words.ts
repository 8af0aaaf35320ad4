import { uncapitalised } from '../../../core/text/capitalised.js';
import type { Repair } from './repair.js';

/** What a sentence calls a part or a setting, in its own words. */
const WORDS =
  '((?!(?:Without|To|If|When|In|For|Only|Please|Failed|Cannot|Could|That|Because)\\b)[A-Za-z0-9\'"`(-](?:[^:;.,\\n]|(?<=\\d)\\.(?=\\d)){1,60}?)';
const END = '(?=[;.]? ?$|[;.] |, | \\(|: |\\. | because\\b| but\\b| yet\\b)';
const NOT =
  '(?:is|are|was) (?:currently |yet )?not (?:yet |currently )?(?:supported|compatible|allowed|implemented|valid|applicable)';

type Form = readonly [pattern: RegExp, says: (one: string, other: string) => string];

/** What nobody leaves out: the machine and the model. */
const GIVEN = /\b(?:devices?|platforms?|GPUs?|hardware|models?|arch\w{0,10}|process)\b/i;

/** How programs refuse what they call by words and not by names. The first that fits counts. */
const FORMS: readonly Form[] = [
  // "Invalid value for field 'port': 0 - Port must be > 0".
  [
    /\b[Ii]nvalid value for (?:[a-z]{2,12} )?['"`]([\w.-]{1,60})['"`](?:: ?| )[^\s]{1,40} ?[-:,;] ([^\n]{3,120})/,
    (one, other) => `Correct ${one} (kubectl edit): ${other.replace(/\.$/, '')}`,
  ],
  [
    new RegExp(
      `(?:^|[:.] )${WORDS} (?:${NOT}|(?:is|are) incompatible|conflicts?) (?:yet )?(?:with|for|on|in combination with|together with|when using|when|without) ${WORDS}${END}`,
    ),
    (one, other) =>
      `Start the program without ${one}${GIVEN.test(other) ? '' : `, or without ${other}`} (kubectl edit)`,
  ],
  [
    new RegExp(`(?:^|[:.] )${WORDS} (?:does|do)(?: not|n't) (?:yet |currently )?support ${WORDS}${END}`),
    (one, other) =>
      `Start the program without ${other}${GIVEN.test(one) ? '' : `, or with something else than ${one}`} (kubectl edit)`,
  ],
  [
    new RegExp(
      `(?:^|[:.] )${WORDS} (?:currently )?(?:(?:is|are) (?:currently )?only supported (?:with|on|for|by|in)|only supports?|supports only|can only be (?:used|set|enabled) (?:with|when|for)) ${WORDS}${END}`,
    ),
    (one, other) => `Give it ${other} (kubectl edit), or start the program without ${one}`,
  ],
  [
    /(?:^|[:.] )(At least one [^:;.\n]{2,60}?) (?:must|has to|needs to) be (?:enabled|configured|specified|provided|set|given)/i,
    (one) => `Set ${uncapitalised(one)} (kubectl edit)`,
  ],
  [
    new RegExp(
      `(?:^|[:.] )${WORDS} (?:must|has to|have to|needs to) (?:also )?be (?:enabled|configured|specified|provided|set|given)\\b(?: (?:when|if|to|for) ${WORDS}${END})?`,
    ),
    (one, other) =>
      `Set ${one}${other === '' ? '' : `, or start the program without ${other}`} (kubectl edit)`,
  ],
  [
    new RegExp(
      `(?:^|[:.] )${WORDS} (?:must|should|has to|have to) (?:be|have) ((?:either|one of) [^.;\\n]{1,120}?(?=[.;]|$)|[^:;.,\\n]{1,60}?${END})`,
    ),
    (one, other) =>
      `Set ${one} to ${/^(?:one of|the same|between|in|less|greater|larger|smaller|at (?:least|most)|divisible|equal)\b/.test(other) ? `a value that is ${other}` : other} (kubectl edit)`,
  ],
  [
    new RegExp(`(?:^|[:.] )${WORDS} (?:requires?|needs?) (?!to )${WORDS}${END}`),
    (one, other) => `Give the program ${other}, or start it without ${one} (kubectl edit)`,
  ],
  [
    /(?:^|[:.] )(?:[Ii]nvalid|[Uu]nknown|[Uu]nsupported|[Uu]nrecogni[sz]ed) (?!argument: [^-'"])([a-z][\w /-]{2,40}?)(?: value)?(?:: ?| (?=['"`]))['"`]?([\w./:@-]{0,80}\w)['"`]?(?=[;:,.)]|\s|$)/i,
    (one, other) =>
      `Correct the ${one} "${other}" (kubectl edit): the program does not know it; --help and the documentation of this version have those that it takes`,
  ],
  [
    /(?:^|[:.] )No ([a-z][\w /-]{2,40}?) (?:was |were |is |are )?(?:provided|specified|configured|given|set)\b/i,
    (one) =>
      `Set ${/^[aeiou]/i.test(one) ? 'an' : 'a'} ${one} (kubectl edit)`.replace(/Set an? (\w+s)\b/, 'Set $1'),
  ],
];

const WHY =
  'The program checks combinations of model, cache and settings at its start, and does not go on with those that it cannot serve. A later version may; its release notes name it.';

/** What is to be done about parts and settings that a sentence refuses by its own words; undefined where it has no such form. */
export function repairRefusedWords(sentence: string): Repair | undefined {
  const text = sentence.replace(/^(?:[\w.]{1,80}(?:Error|Exception): )/, '').slice(0, 400);
  for (const [pattern, says] of FORMS) {
    const [, one, other = ''] = pattern.exec(text) ?? [];
    if (one !== undefined && !isEmpty(one))
      return { says: says(plain(one), plain(other)), why: WHY, commands: [] };
  }
  return undefined;
}

/** A pronoun says nothing of what is meant. */
function isEmpty(words: string): boolean {
  return /^(?:it|this|that|they|which|there|we|you|value|operation|method|function|request|model)$/i.test(
    words.trim(),
  );
}

/** In the middle of a sentence. */
function plain(words: string): string {
  return words
    .trim()
    .replace(/^(?:[Cc]urrently|[Tt]he|[Aa]n?|[Yy]our|[Uu]sing|[Ee]nabling) /, '')
    .replace(/\bcurrently$/, '')
    .replaceAll('"', "'")
    .trim();
}
