import { uncapitalised } from '../../../core/text/capitalised.js';
import type { Repair } from './repair.js';

/** What stands for a part or a setting, in the words of a sentence: no verb, and no words that begin another clause. */
const WORDS =
  '((?!(?:Without|To|If|When|In|For|Only|Please|Failed|Cannot|Could|That|Because|Unsupported|Invalid|Unknown)\\b)[A-Za-z0-9\'"`(-](?:(?! (?:is|are|was|were|has|have|but|must|should)\\b)[^:;.,\\n]|(?<=\\d)\\.(?=\\d)){1,60}?)';
/** Where such words end. */
const END = '(?=[;.!]? ?$|[;.] |, | \\(|: |\\. | because\\b| but\\b| yet\\b| so that\\b)';
/** Where they begin: at the sentence, or behind a colon or another sentence. */
const FROM = '(?:^|[:.] )';
const NOT =
  '(?:is|are|was) (?:currently |yet )?not (?:yet |currently )?(?:supported|compatible|allowed|implemented|valid|applicable)';
const MUST = '(?:must|should|has to|have to|needs to)';
const GIVEN_TO = '(?:enabled|configured|specified|provided|set|given)';

/** A way to refuse, with the cure in the words of the sentence: what the groups of the pattern have, cleaned by `plain`. */
interface Form {
  readonly pattern: RegExp;
  readonly cure: (one: string, other: string, third: string) => string;
}

/** What nobody leaves out: the machine and the model. */
const GIVEN = /\b(?:devices?|platforms?|GPUs?|hardware|models?|arch\w{0,10}|process)\b/i;

/** A setting by its name; what switches a part on takes no values. */
const SETTING = /^(?:--)?(?!enable|disable)\w{2,40}(?:[_.-]\w{1,40}){1,8}$/;

/** How programs refuse what they call by words and not by names. The first that fits counts. */
const FORMS: readonly Form[] = [
  // "Invalid value for field 'port': 0 - Port must be > 0", "Invalid ssd_cache_gb: 32, must be greater than cpu_cache_gb: 64".
  {
    pattern:
      /\b[Ii]nvalid (?:value for )?(?:[a-z]{2,12} )?['"`]?((?:\w{1,40}[_.-])?\w{1,40})['"`]?(?:: ?| )[^\s]{1,40}? ?[-:,;] ((?:[A-Z]?[\w.]{1,40} )?[Mm]ust [^\n]{3,120})/,
    cure: (one, other) => `Correct ${one} (kubectl edit): ${other.replace(/\.$/, '')}`,
  },
  // "Hugepages are not supported with P2P mode"; with a model or a machine only the part is left out.
  {
    pattern: new RegExp(
      `${FROM}${WORDS} (?:${NOT}|(?:is|are) incompatible|conflicts?) (?:yet )?(?:with|for|on|in combination with|together with|when using|when|without) ${WORDS}${END}`,
    ),
    cure: (one, other) =>
      `Start the program without ${one}${or(`without ${other}`, !GIVEN.test(other))} (kubectl edit)`,
  },
  // "OpenAI mode does not support service discovery".
  {
    pattern: new RegExp(`${FROM}${WORDS} (?:does|do)(?: not|n't) (?:yet |currently )?support ${WORDS}${END}`),
    cure: (one, other) =>
      `Start the program without ${other}${or(`with something else than ${one}`, !GIVEN.test(one))} (kubectl edit)`,
  },
  // "MoRIIOConnector received handshake metadata but does not support PP-disaggregated KV transfer".
  {
    pattern: new RegExp(`\\bbut (?:does|do)(?: not|n't) (?:yet |currently )?support ${WORDS}${END}`),
    cure: (one) => `Start the program without ${one} (kubectl edit)`,
  },
  // "Bfloat16 is only supported on GPUs with compute capability of at least 8.0", "Sleep mode can only be used for one instance per process".
  {
    pattern: new RegExp(
      `${FROM}${WORDS} (?:currently )?(?:(?:is|are) (?:currently )?only supported|can only be (?:used|set|enabled)) (with|on|for|by|in|when) ${WORDS}${END}`,
    ),
    cure: (one, how, other) => `Start the program without ${one} (kubectl edit), or ${how} ${other}`,
  },
  // "DaxBackend currently only supports TP=1"; of a setting its value: "mamba_cache_mode only supports 'align'".
  {
    pattern: new RegExp(`${FROM}${WORDS} (?:currently )?(?:only supports?|supports only) ${WORDS}${END}`),
    cure: (one, other) =>
      SETTING.test(one) && /^\S{1,40}(?: when |$)/.test(other)
        ? `Set ${one} to ${other} (kubectl edit)`
        : `Give it ${other} (kubectl edit), or start the program without ${one}`,
  },
  // "At least one cache tier must be configured".
  {
    pattern: new RegExp(`${FROM}(At least one [^:;.\\n]{2,60}?) ${MUST} be ${GIVEN_TO}\\b`, 'i'),
    cure: (one) => `Set ${uncapitalised(one)} (kubectl edit)`,
  },
  // "Etcd endpoints must be set when enable_ha", "X must be set the same on both sides".
  {
    pattern: new RegExp(
      `${FROM}${WORDS} ${MUST} (?:also )?be ${GIVEN_TO}\\b(?! as\\b)(?: (the same [^.;:\\n]{2,40})| (?:when|if|to|for) ${WORDS}(?: (?:is|are) (?:set|enabled?|used|on|True))?${END})?`,
    ),
    cure: (one, same, other) =>
      `Set ${one}${same === '' ? '' : ` ${same}`}${or(`start the program without ${other}`, other !== '')} (kubectl edit)`,
  },
  // "lmcache_worker_ports must have at least 4 port(s)", "URLs and models should have the same length".
  {
    pattern: new RegExp(`${FROM}${WORDS} ${MUST} have ([^:;.,\\n]{1,60}?)${END}`),
    cure: (one, other) => `Give ${one} ${other} (kubectl edit)`,
  },
  // "NUMA mode must be either 'auto', 'manual', or None", "--connector must be one of: nixlv2, lmcache, sglang", "chunk size 256 must be a multiple of 528".
  {
    pattern: new RegExp(
      `${FROM}${WORDS} ${MUST} be (?!of\\b|set\\b|\\w{3,30}ed\\b)((?:either|one of):? [^.;\\n]{1,120}?(?=[.;}]|$)|[^:;.,\\n]{1,60}?${END})`,
    ),
    cure: (one, other) =>
      `Set ${one.replace(/(?: \(?\d[\d.]{0,18}\)?|[=(]\d[\d.]{0,18}\)?)$/, '')} to ${demandedValue(other)} (kubectl edit)`,
  },
  // "PdConnector requires exactly two connectors (got 3)".
  {
    pattern: new RegExp(`${FROM}${WORDS} (?:currently )?(?:requires?|needs?) (?!to )${WORDS}${END}`),
    cure: (one, other) =>
      `Give the program ${other.replace(/ to be (?:set|specified|provided|enabled)$/, '')}, or start it without ${one} (kubectl edit)`,
  },
  // "Unsupported KV pool backend: redis", "unknown router mode 'kv-aware'"; a value without quotation marks is one word.
  {
    pattern:
      /(?:^|[:.] )(?:invalid|unknown|unsupported|unrecogni[sz]ed) (?!argument: [^-'"])([a-z][\w /-]{2,40}?)(?: value)?(?:(?:: ?| )['"`]([\w./:@-]{0,80}\w)['"`](?=[;:,.)]|\s|$)|: ?([\w./:@-]{0,80}\w)(?=[;,.)]?(?: \(| in |\. |; ?|, ?|$)))/i,
    cure: (one, quoted, word) =>
      `Correct the ${one} "${quoted || word}" (kubectl edit): the program does not know it; --help and the documentation of this version have those that it takes`,
  },
  // "No CPU memory configured", "No model path was given".
  {
    pattern: new RegExp(`${FROM}No ([a-z][\\w /-]{2,40}?) (?:was |were |is |are )?${GIVEN_TO}\\b`, 'i'),
    cure: (one) => `Set the ${one} (kubectl edit)`,
  },
];

const WHY =
  'The program checks combinations of model, cache and settings at its start, and does not go on with those that it cannot serve. A later version may; its release notes name it.';

/** What is to be done about parts and settings that a sentence refuses by its own words; undefined where it has no such form. */
export function repairRefusedWords(sentence: string): Repair | undefined {
  const text = sentence.replace(/^(?:[\w.]{1,80}(?:Error|Exception): )/, '').slice(0, 400);
  for (const { pattern, cure } of FORMS) {
    const match = pattern.exec(text);
    if (match === null) continue;
    const [one = '', other = '', third = ''] = match.slice(1).map((group) => plain(group ?? ''));
    if (isEmpty(one) || INNER.test(one) || INNER_VALUE.test(other)) continue;
    return { says: cure(one, other, third), why: WHY, commands: [] };
  }
  return undefined;
}

function or(text: string, isThere: boolean): string {
  return isThere ? `, or ${text}` : '';
}

/** What a setting has to be, behind "to": "a value that is less than 8", "a multiple of 16", "1". */
function demandedValue(words: string): string {
  if (/^(?:power|multiple|integer multiple) of\b/.test(words))
    return `${words.startsWith('i') ? 'an' : 'a'} ${words}`;
  const list = /^(?:either|one of): (.{1,120})$/.exec(words)?.[1];
  if (list !== undefined) return `one of ${list}`;
  return /^(?:one of|the same|between|in|less|lower|greater|higher|larger|smaller|at (?:least|most)|divisible|equal|[<>]=?)(?= )/.test(
    words,
  )
    ? `a value that is ${words}`
    : words;
}

/** A pronoun, or a word for anything, says nothing of what is meant. */
function isEmpty(words: string): boolean {
  return /^(?:|it|they|which|there|we|you|value|operation|method|function|request|model|parameters?|(?:this|that|these|those|such)(?: \w{1,20})?)$/i.test(
    words.trim(),
  );
}

/** What a program asserts of its own objects, and no setting: tensors, messages, arguments of functions. */
const INNER = /\b(?:tensors?|shapes?|dimensions?|message|argument)$|\w\(\)/i;
const INNER_VALUE = /^(?:nullopt|null|nil|b'.*|not None)$/;

/** In the middle of a sentence: without an article, quotation marks and brackets of what it was quoted in, or a time. */
function plain(words: string): string {
  return words
    .trim()
    .replace(/^(?:[Cc]urrently|[Tt]he(?! same)|[Yy]our|[Uu]sing|[Ee]nabling|use|providing) /, '')
    .replace(/^(?:[Aa]n?) (?!(?:integer )?multiple\b|power\b)/, '')
    .replace(/ (?:currently|now|yet)$/, '')
    .replace(/\s?\[[^\]]*$/, '')
    .replace(/['"]?\s?\}+$/, '')
    .replace(/^["'](?=[^"']*$)|(?<=^[^"']*)["']$/, '')
    .replaceAll('"', "'")
    .trim();
}
