import { errorKindOf } from './error-kinds.js';

/** What is wrong with one setting, as parsers of arguments, of files and of Kubernetes' objects say it. */
export interface RefusedKey {
  readonly problem: 'unknown' | 'invalid' | 'missing' | 'conflict';
  /** As the program writes it: `--kv-cache-dtype`, `kv_cache_config.backend`, `spec.targetPorts[0].number`; empty where it stands in a line below. */
  readonly key: string;
  /** The value that it has, and what it should be. */
  readonly given?: string | undefined;
  readonly wanted?: string | undefined;
  /** Another name that the program proposes, or the setting that it does not go with. */
  readonly other?: string | undefined;
  /** Where the key stands: the class of a configuration, the object in Kubernetes. */
  readonly of?: string | undefined;
  readonly place: 'argument' | 'file' | 'object' | 'values';
}

type Groups = Readonly<Record<string, string | undefined>>;
type Form = readonly [
  problem: RefusedKey['problem'],
  place: RefusedKey['place'],
  /** What all sentences of the form have, and few others. */
  needle: string,
  pattern: RegExp,
];

/** The first that fits counts. Groups are `key`, `given`, `wanted`, `other` and `of`, which may stand before the match. */
const FORMS: readonly Form[] = [
  // Kubernetes, as kubectl prints it and as controllers pass it on.
  [
    'invalid',
    'object',
    ' is invalid: ',
    / is invalid: (?<=(?<of>\b[A-Z][\w.]{2,80} \\?"[\w.-]{1,120}\\?") is invalid: )(?<key>(?:spec|metadata|data|status)[\w.[\]-]{0,160}): Invalid value: (?<given>\\?"[^"\\]{0,80}\\?"|[^:\s]{1,80}): (?<wanted>[^\n]{3,160})/,
  ],
  [
    'invalid',
    'object',
    ' is invalid: ',
    / is invalid: (?<=(?<of>\b[A-Z][\w.]{2,80} \\?"[\w.-]{1,120}\\?") is invalid: )(?<key>(?:spec|metadata|data|status)[\w.[\]-]{0,160}): Unsupported value: (?<given>\\?"[^"\\]{0,80}\\?"): supported values: (?<wanted>[^\n]{3,160})/,
  ],
  [
    'missing',
    'object',
    ' is invalid: ',
    / is invalid: (?<=(?<of>\b[A-Z][\w.]{2,80} \\?"[\w.-]{1,120}\\?") is invalid: )(?<key>(?:spec|metadata|data|status)[\w.[\]-]{0,160}): Required value/,
  ],
  [
    'conflict',
    'object',
    ' is invalid: ',
    / is invalid: (?<=(?<of>\b[A-Z][\w.]{2,80} \\?"[\w.-]{1,120}\\?") is invalid: )(?<key>(?:spec|metadata|data|status)[\w.[\]-]{0,160}): (?:Forbidden|Duplicate value): (?<wanted>[^\n]{3,160})/,
  ],
  [
    'unknown',
    'object',
    'strict decoding error: ',
    /(?<of>\b[A-Z]\w{2,80}) in version \\?"[\w./]{1,60}\\?" cannot be handled as an? \w{1,80}: strict decoding error: unknown field \\?"(?<key>[\w.[\]-]{1,160})\\?"/,
  ],
  [
    'invalid',
    'object',
    'denied the request: ',
    /admission webhook \\?"[\w.-]{1,160}\\?" denied the request: (?:\S{1,120} is invalid: )?(?<key>spec[\w.[\]-]{0,160}): (?:Invalid value: [^:]{1,80}: )?(?<wanted>[^\n]{3,160})/,
  ],
  // Helm: "at '/a/b': got string, want boolean", before 3.18 "- a.b: Invalid type. Expected: …".
  [
    'invalid',
    'values',
    'meet the specifications of the schema',
    /meet the specifications of the schema.{0,200}? at '(?<key>\/[^'\n]{1,160})': (?<wanted>[^\n]{3,160})/,
  ],
  [
    'invalid',
    'values',
    'meet the specifications of the schema',
    /meet the specifications of the schema.{0,200}?[-:] (?<key>(?:[A-Za-z]\w{0,60}\.)*[A-Za-z]\w{0,60}|\(root\)): (?<wanted>[^\n]{3,160})/,
  ],
  // Pydantic: the field and what is wrong with it stand in the lines below. Of an argument that is no JSON it has no field.
  [
    'invalid',
    'argument',
    'validation error',
    /\bargument (?<key>--[\w-]{1,80}): \d{1,3} validation errors? for \w{1,80}\s+(?<wanted>Invalid JSON: [^[\n]{3,160}?) \[type=json_invalid/,
  ],
  [
    'unknown',
    'file',
    'validation error',
    /validation errors? for (?<of>\w*(?:Config|Args|Settings|Arguments|Options))\s+(?!Value error,|Assertion failed,)(?<key>[A-Za-z_][\w.[\]-]{0,120})\s+(?:Extra inputs are not permitted|Unexpected keyword argument)/,
  ],
  [
    'missing',
    'file',
    'validation error',
    /validation errors? for (?<of>\w*(?:Config|Args|Settings|Arguments|Options))\s+(?!Value error,|Assertion failed,)(?<key>[A-Za-z_][\w.[\]-]{0,120})\s+(?:Field|Missing) required/,
  ],
  [
    'invalid',
    'file',
    'validation error',
    /validation errors? for (?<of>\w*(?:Config|Args|Settings|Arguments|Options))\s+(?!Value error,|Assertion failed,)(?<key>[A-Za-z_][\w.[\]-]{0,120})\s+(?:Input should be )?(?<wanted>[^[\n]{3,160}?) \[type=\w{1,60}(?:, input_value=(?<given>[^,\]\n]{1,80}))?/,
  ],
  // Clap.
  [
    'unknown',
    'argument',
    "unexpected argument '",
    /\bunexpected argument '(?<key>--?[\w-]{1,80})' found(?:.{0,60}similar argument exists: '(?<other>--[\w-]{1,80})')?/,
  ],
  [
    'invalid',
    'argument',
    "invalid value '",
    /\binvalid value '(?<given>[^'\n]{0,80})' for '(?<key>--[\w-]{1,80})[^'\n]{0,80}'(?::? ?\[possible values: (?<wanted>[^\]\n]{1,160})\]|: (?<said>[^\n]{3,160}))?/,
  ],
  [
    'missing',
    'argument',
    'required arguments were not provided',
    /required arguments were not provided:?(?:\s{1,8}(?<key>--[\w-]{1,80}))?/,
  ],
  [
    'conflict',
    'argument',
    'cannot be used with',
    /\bargument '(?<key>--[\w-]{1,80})[^'\n]{0,80}' cannot be used with:?(?: '?(?<other>--[\w-]{1,80}))?/,
  ],
  // Cobra, Go's own flags, Click.
  [
    'invalid',
    'argument',
    'invalid argument "',
    /\binvalid argument "(?<given>[^"\n]{0,80})" for "(?:-\w, )?(?<key>--[\w-]{1,80})" flag(?:: (?<said>[^\n]{3,120}))?/,
  ],
  ['unknown', 'argument', 'flag: ', /\bunknown (?:shorthand )?flag: '?(?<key>-{1,2}[\w-]{1,80})/],
  [
    'unknown',
    'argument',
    'flag provided but not defined: ',
    /\bflag provided but not defined: (?<key>--?[\w.-]{1,80})/,
  ],
  [
    'invalid',
    'argument',
    'value "',
    /\binvalid (?:boolean )?value "(?<given>[^"\n]{0,80})" for (?:flag )?(?<key>--?[\w.-]{1,80})(?:: (?<said>[^\n]{3,120}))?/,
  ],
  [
    'unknown',
    'argument',
    'No such option: ',
    /\bNo such option: (?<key>--?[\w-]{1,80})(?:.{0,4}Did you mean (?<other>--[\w-]{1,80}))?/,
  ],
  [
    'invalid',
    'argument',
    "Invalid value for '",
    /\bInvalid value for '(?<key>--[\w-]{1,80})[^'\n]{0,40}': (?:'(?<given>[^'\n]{0,80})' is not (?:one of )?)?(?<wanted>[^\n]{3,160})/,
  ],
  ['missing', 'argument', "Missing option '", /\bMissing option '(?<key>--[\w-]{1,80})/],
  // Argparse.
  [
    'invalid',
    'argument',
    ': invalid choice: ',
    /(?:^|: error: )argument (?:-\w\/|-\w, )?(?<key>--[\w-]{1,80})[\w/, -]{0,80}: invalid choice: '?(?<given>[^'\n]{0,80})'? \(choose from (?<wanted>[^)\n]{1,200})/,
  ],
  [
    'invalid',
    'argument',
    ' value: ',
    /(?:^|: error: )argument (?:-\w\/|-\w, )?(?<key>--[\w-]{1,80})[\w/, -]{0,80}: invalid (?<wanted>\w{1,40}) value: '?(?<given>[^'\n]{0,80})/,
  ],
  [
    'conflict',
    'argument',
    ': not allowed with argument ',
    /(?:^|: error: )argument (?<key>--[\w-]{1,80})[\w/, -]{0,80}: not allowed with argument (?<other>--[\w-]{1,80})/,
  ],
  [
    'missing',
    'argument',
    'the following arguments are required: ',
    /(?:^|: error: )the following arguments are required: (?<key>[\w-]{1,80})/,
  ],
  [
    'unknown',
    'argument',
    'ambiguous option: ',
    /(?:^|: error: )ambiguous option: (?<key>--[\w-]{1,80}) could match (?<other>[\w, -]{1,160})/,
  ],
  // Mapstructure, which viper decodes with; Go's JSON.
  [
    'invalid',
    'file',
    "expected type '",
    /'(?<key>[\w.[\]-]{1,120})' expected type '(?<wanted>[^'\n]{1,60})', got unconvertible type '[^'\n]{1,60}'(?:, value: '(?<given>[^'\n]{0,80}))?/,
  ],
  [
    'unknown',
    'file',
    'has invalid keys: ',
    /'(?<of>[\w.[\]-]{0,120})' has invalid keys: (?<key>[\w.-]{1,80}(?:, [\w.-]{1,80}){0,8})/,
  ],
  [
    'unknown',
    'file',
    ': unknown field ',
    /(?:^|[:\s])(?:json|yaml): unknown field \\?"(?<key>[\w.[\]-]{1,120})\\?"/,
  ],
  [
    'invalid',
    'file',
    'json: cannot unmarshal ',
    /json: cannot unmarshal (?<given>\w{1,20})(?: \S{1,40})? into Go struct field (?<key>[\w.]{1,120}) of type (?<wanted>[\w.[\]*]{1,60})/,
  ],
  // Serde; OmegaConf.
  [
    'unknown',
    'file',
    'unknown field `',
    /unknown field `(?<key>[^`\n]{1,80})`(?:, expected (?:one of )?(?<wanted>[^\n]{1,200}?)(?: at line|$))?/,
  ],
  ['missing', 'file', 'missing field `', /missing field `(?<key>[^`\n]{1,80})`/],
  [
    'invalid',
    'file',
    ', expected ',
    /invalid (?:type|value): (?<given>[^,\n]{1,80}), expected (?<wanted>[^\n]{1,80}?) for key `?"?(?<key>[\w.-]{1,120})/,
  ],
  ['unknown', 'file', "Key '", /\bKey '(?<key>\w{1,80})' (?:is )?not in '(?<of>\w{1,80})'/],
];

/** Fields of requests, and of what comes over a wire, which no operator sets. */
const OF_REQUESTS =
  /\b(?:request|prompt|messages?|completion|sampling|tool|http|body|payload|response|deserializ\w+ (?:event|message))\b/i;
/** Where a file of settings is spoken of; a class of settings says so by its name. */
const OF_FILES =
  /^\s{0,8}Error\b|\bconfig\w*|\bsettings?\b|\byaml\b|\btoml\b|\bvalues\b|Go struct field \w*Config/i;

/** Clap: the values that an argument takes, and the arguments that are missing or in the way, stand in the line below. */
const OPEN_CLAP =
  /\berror: (?:invalid value '[^'\n]{0,80}' for '--[\w-]{1,80}[^'\n]{0,80}'|.{0,60}required arguments were not provided:|.{0,160}cannot be used with:)\s*$/;

/** Whether a line refuses an argument in words that go on in the line below. */
export function goesOnBelow(text: string): boolean {
  return OPEN_CLAP.test(text);
}

/** The setting that a sentence refuses; undefined where it names none. */
export function refusedKeyIn(sentence: string): RefusedKey | undefined {
  return found(sentence)?.refused;
}

/** The part of a line that refuses a setting, as one sentence; undefined where it speaks of none, or of one request. */
export function refusedPart(text: string): string | undefined {
  const { refused, part } = found(text) ?? {};
  if (refused === undefined || part === undefined) return undefined;
  const { place, of } = refused;
  if (place === 'file' && (OF_REQUESTS.test(text) || (of === undefined && !OF_FILES.test(text))))
    return undefined;
  return part;
}

/** Pydantic, of a check of its whole class: "1 validation error for VllmConfig Value error, … [type=value_error, input_value=ArgsKwargs(…". */
const OF_CLASS =
  /validation errors? for \w*(?:Config|Args|Settings|Arguments|Options)\s+(?:Value error|Assertion failed), ([^\n]{3,1000}?)(?: \[type=|$)/;
/** The same in the line of the error alone: what a class of settings was called with is written like this, a request is not. */
const WITH_ARGUMENTS =
  /\b(?:Value error|Assertion failed), ([^\n]{3,1000}?) \[type=\w{1,40}, input_value=ArgsKwargs\(/;

/** What a check of a whole class of settings says; undefined where a kind of error says more: a model that cannot be read, GPUs that are missing. */
export function refusedClass(text: string): string | undefined {
  const sentence = (OF_CLASS.exec(text) ?? WITH_ARGUMENTS.exec(text))?.[1]?.trim();
  if (sentence === undefined) return undefined;
  const kind = errorKindOf(sentence);
  return kind === undefined || kind === 'internal' ? sentence : undefined;
}

/** In place of what is left out before a part: no pattern has it. */
const CUT = '\u0000';
/** Characters before and from a needle that a sentence of any form has at most. */
const BEFORE_CHARS = 300;
const FROM_CHARS = 1_000;
/** Places of one needle that are looked at: a line speaks of a setting once or twice. */
const MAX_PLACES = 3;

/**
 * The parts of a text around a needle. Some patterns take a hundred steps for a character of a line that is made for
 * them: they get no more of it than this.
 *
 * @internal
 */
export function partsAround(text: string, needle: string): readonly string[] {
  const parts: string[] = [];
  for (let at = text.indexOf(needle); at !== -1 && parts.length < MAX_PLACES; ) {
    const start = Math.max(0, at - BEFORE_CHARS);
    // A beginning that is none of the text is not to be taken for one.
    parts.push((start === 0 ? '' : CUT) + text.slice(start, at + FROM_CHARS));
    at = text.indexOf(needle, at + FROM_CHARS - BEFORE_CHARS);
  }
  return parts;
}

function found(text: string): { readonly refused: RefusedKey; readonly part: string } | undefined {
  for (const [problem, place, needle, pattern] of FORMS) {
    const match = firstMatch(pattern, partsAround(text, needle));
    if (match === null) continue;
    const { key = '', given, wanted, said, other, of }: Groups = match.groups ?? {};
    const refused = {
      problem,
      place,
      key,
      given: unquoted(given),
      wanted: unquoted(wanted ?? said),
      other,
      of: unquoted(of) || undefined,
    };
    return {
      refused,
      part: `${match[0].includes(of ?? '') ? '' : of}${match[0]}`
        .replace(/\s+/g, ' ')
        .replace(/^: error: /, '')
        .trim(),
    };
  }
  return undefined;
}

function firstMatch(pattern: RegExp, parts: readonly string[]): RegExpExecArray | null {
  for (const part of parts) {
    const match = pattern.exec(part);
    if (match !== null) return match;
  }
  return null;
}

function unquoted(text: string | undefined): string | undefined {
  return text?.replaceAll('\\"', '"').trim();
}
