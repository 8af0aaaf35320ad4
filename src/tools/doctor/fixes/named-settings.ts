import { engineOfWord } from '../../../engines/catalogue/engines.js';
import { argumentsOf, environmentOf } from './lines.js';
import { listedValue } from './listed-value.js';
import type { Repair } from './repair.js';

/** A setting by its name: a flag, a variable of the environment, a key with its path. */
const NAME =
  '(?<![\\w./-])[\'"`]?(--[a-z][\\w-]{2,60}|[A-Z][A-Z0-9]{1,20}(?:_[A-Z0-9]{1,30}){1,8}|[a-z][a-z0-9]{0,30}(?:\\.[a-z][a-z0-9]{0,30}){0,4}(?:_[a-z0-9]{1,30}){1,8}(?:\\.[a-z0-9_]{2,60}){0,4})[\'"`]?(?![\\w/-])';
/** What it is set to, where the sentence has it behind the name. */
const GIVEN =
  "(?: ?={1,2} ?[\\w.'\"-]{1,60}| ?\\([^()]{1,60}\\)| (?:environment variable|values?|key|policy)\\b| '[^']{0,60}'| \\d{1,9})?";
const VALUE = '[\'"]?([A-Za-z0-9](?:[\\w./-]{0,60}\\w)?)[\'"]?';
/** What a setting must be, up to the end of the clause; a list goes on to the end of the sentence. */
const CLAUSE =
  '((?:one of|either|in (?:the )?(?:range )?\\[)(?:[^.;\\n]|\\.(?=\\S)){1,160}?(?=[.;]? ?$|[.;] |,? got\\b| \\()|[^;,\\n]{1,100}?(?=[;,.] |[;,.]?$|,? but\\b|,? got\\b| \\(|: |\\. ))';

/** "A requires B=v", "A requires B to be set". */
const REQUIRES = new RegExp(
  `(?:${NAME}${GIVEN} )?(?:[a-z]{2,12} )?(?:requires?|needs?) (?:the )?(?:environment variable )?${NAME}(?: ?={1,2} ?${VALUE}| to be set to ${VALUE}| to be (set|enabled|[Tt]rue|[Ff]alse|\\d{1,9})\\b)?(?! (?:to be|support|package|library|module))`,
);
/** "A is required when …", "A must be set to use B". */
const REQUIRED = new RegExp(
  `(?<!\\b(?:when|if|because|while|since|with|and|unless) )${NAME}${GIVEN} (?:is|are|was|must be|should be|needs to be|has to be) (?:required|mandatory|not (?:set|defined|provided|specified|configured)|set|specified|provided|defined|configured|given|passed|missing|enabled)\\b(?! (?:to|as|but|and|together)\\b)`,
);
/** "You must set A when B is set", "Please specify A". */
const TO_SET = new RegExp(
  `\\b(?:must|[Pp]lease|need to|have to|should) (?:also )?(?:set|specify|provide|configure|define|pass) (?:the )?(?:environment variable )?${NAME}(?: (?:when|if|with|to use) ${NAME})?`,
);
const MISSING = new RegExp(`\\b[Mm]issing (?:required )?(?:[a-z]{2,20} ){0,3}(?:[a-z]{2,20}: )?${NAME}`);
/** "A must be a power of two", "A should be one of …". */
const MUST_BE = new RegExp(
  `${NAME}${GIVEN} (must|should|has to|have to|needs to)( not)? (?:be|have|contain|start with|divide|match) (?:set to )?(?!set\\b|specified\\b|provided\\b|defined\\b|enabled\\b|configured\\b|the same\\b|used\\b|equal\\b)${CLAUSE}`,
);
/** "Invalid A 40GiB, expect a positive integer value". */
const EXPECTED = new RegExp(
  `\\b[Ii]nvalid (?:value )?(?:for |of )?(?:[a-z]{2,20} ){0,3}${NAME}(?: value)?[:=]? ?['"]?([^'",\\s]{1,60})['"]?[:;,.]? .{0,20}?\\b(?:expect(?:s|ed)?|[Mm]ust be|should be|must satisfy) ${CLAUSE}`,
);
/** "A has an invalid value "16k": invalid digit found in string", "A has invalid value "x"; expected "y" or "z"". */
const HAS_INVALID = new RegExp(
  `${NAME} has (?:an )?invalid value ['"]?([^'",\\s]{1,60}?)['"]?(?:; expected ([^.;]{3,120})|: ([^:]{3,100}))?$`,
);
/** "A is not supported with …", "A cannot be combined with …". */
const REFUSED = new RegExp(
  `${NAME}${GIVEN} (?:(?:is|are) (?:currently |yet )?(?:not (?:currently |yet )?(?:supported|compatible|allowed|valid|applicable|available)|unsupported|incompatible|only (?:supported|valid|for|available))|(?:does|do)(?: not|n't) (?:yet |currently )?support|only supports?|conflicts with|can(?:not|'t) (?:both )?be (?:used|combined|set|specified|enabled)|can only be)\\b`,
);
/** "A and B must differ", "A and B are mutually exclusive". */
const TWO = new RegExp(
  `${NAME}${GIVEN} (?:and|or) ${NAME}${GIVEN} (?:(must (?:differ|be different))|((?:must|should|needs? to) be (?:equal|identical|the same)\\b)|(are mutually exclusive|cannot (?:both )?be|can't (?:both )?be|conflict\\b)|(must be (?:set|specified|provided|given|used|configured) together)|(must be (?:set|specified|provided|given|configured)))`,
);
/** "Unknown A: x. Supported: y, z", "unknown router mode 'x'; expected one of y, z", "A must be one of y or z". */
const LISTED =
  /\b(?:[Uu]nknown|[Uu]nsupported|[Ii]nvalid|[Uu]nrecogni[sz]ed)\b[^:'"\n]{0,80}?(?:: ?['"]?|['"])([\w./-]{1,60})['"]?[.;,(]? .{0,40}?\b(?:[Vv]alid|[Ss]upported|[Aa]vailable|[Aa]llowed|[Kk]nown|[Ee]xpected|[Pp]ossible|must be(?= (?:one of|either|in \[)))\b(?: [a-z]{2,12}){0,3}?(?:: ?| one of:? | are:? | either | (?='[A-Z]))([^\n;]{3,160}?)(?:[.;)]|$)/;
/** "role='reader' in /etc/mooncake.json is not one of: producer, consumer". */
const NOT_ONE_OF =
  /\b([a-z][\w.]{1,40})=['"]([^'"]{1,60})['"] (?:in \S{1,160} )?is not one of:? ([^\n;]{3,160}?)(?:[.;)]|$)/;
/** Names of keys that programs only use within. */
const INNER = /^(?:self|config|torch|os|sys|np|kv_cache_groups?|world_size|num_\w{1,40}_heads)\b/;
/** A key below `kv_connector_extra_config` or another object, which is no flag of its own. */
const COMPARED =
  /^(?:[<>=]|(?:less|greater|larger|smaller|more|at least|at most|between|positive|non-?\w+|divisible|strictly|different|either|in\b|within))/;

const WHY =
  'The program checks what it was set to before it starts, or before it uses the part; the sentence has the name and what it takes.';

/** Objects of a configuration that a sentence says a key to stand in. */
const WITHIN = /\b(kv_connector_extra_config|extra_config)\b/;
const SIZE_OF_BLOCKS = /(?:^|[.-])(?:block[_-]size|page[_-]size|tokens_per_block)$/;

/** What is to be done about the setting that a sentence names; undefined where it names none, or says nothing definite of it. */
export function repairNamed(sentence: string, engine?: string): Repair | undefined {
  const named = asArguments(ofSentence(sentence), engine);
  const within = WITHIN.exec(sentence)?.[1];
  if (named === undefined || within === undefined) return named;
  // A key of an object is no flag of its own.
  return {
    ...named,
    says: named.says
      .replace(/ \(or --[\w-]+\)/g, '')
      .replace('(kubectl edit)', `in ${within} (kubectl edit)`),
  };
}

/** Keys of the JSON in `--kv-transfer-config`. */
const OF_TRANSFER =
  /^kv_(?:role|connector|rank|parallel_size|ip|port|buffer_(?:size|device)|connector_(?:module_path|extra_config)|load_failure_policy)$/;

/** Keys of Python as the arguments of the engine that was seen; names that are no argument of it stay alone. */
function asArguments(named: Repair | undefined, engine: string | undefined): Repair | undefined {
  const known = engineOfWord(engine)?.launch?.arguments;
  if (named === undefined || known === undefined) return named;
  const says = named.says.replace(/\b(\w+) \(or (--[\w-]+)\)/g, (_all, key: string, flag: string) => {
    if (known.has(key)) return flag;
    return engine === 'vllm' && OF_TRANSFER.test(key) ? `"${key}" in --kv-transfer-config` : key;
  });
  return { ...named, says };
}

function ofSentence(sentence: string): Repair | undefined {
  return (
    twoSettings(sentence) ??
    expected(sentence) ??
    invalid(sentence) ??
    required(sentence) ??
    mustBe(sentence) ??
    listed(sentence) ??
    refused(sentence) ??
    missing(sentence)
  );
}

function twoSettings(sentence: string): Repair | undefined {
  const [, one, other, differ, equal, exclude, together, either] = TWO.exec(sentence) ?? [];
  if (one === undefined || other === undefined) return undefined;
  const [a, b] = [called(one), called(other)];
  if (differ !== undefined) return repair(`Give ${a} and ${b} different values (kubectl edit)`, one);
  if (equal !== undefined) return repair(`Give ${a} and ${b} the same value (kubectl edit)`, one);
  if (together !== undefined) return repair(`Set both ${a} and ${b}, or neither (kubectl edit)`, one);
  if (either !== undefined) return repair(`Set ${a}, or ${b} (kubectl edit)`, one);
  return exclude === undefined ? undefined : repair(`Set only one of ${a} and ${b} (kubectl edit)`, one);
}

function expected(sentence: string): Repair | undefined {
  const [, name, given, clause] = EXPECTED.exec(sentence) ?? [];
  if (name === undefined || clause === undefined || INNER.test(name)) return undefined;
  return repair(`Set ${called(name)} to ${takenOf(clause)} in place of ${given} (kubectl edit)`, name);
}

function invalid(sentence: string): Repair | undefined {
  const [, name, given, wanted, reason] = HAS_INVALID.exec(sentence) ?? [];
  if (name === undefined || INNER.test(name)) return undefined;
  const value = wanted ?? `a value that it takes${reason === undefined ? '' : ` (${reason})`}`;
  return repair(`Set ${called(name)} to ${value} in place of ${given} (kubectl edit)`, name);
}

function required(sentence: string): Repair | undefined {
  const [, by, name, value, setTo, state] = REQUIRES.exec(sentence) ?? [];
  if (name === undefined || INNER.test(name)) return undefined;
  const wanted = value ?? setTo ?? (state === 'set' || state === 'enabled' ? undefined : state);
  const without = by === undefined || INNER.test(by) ? '' : `, or start the program without ${called(by)}`;
  return repair(`Set ${written(name, wanted)}${without} (kubectl edit)`, name, wanted);
}

function mustBe(sentence: string): Repair | undefined {
  const [, name, , not, clause] = MUST_BE.exec(sentence) ?? [];
  if (name === undefined || clause === undefined || INNER.test(name)) return undefined;
  return repair(
    `Set ${called(name)} to ${not === undefined ? takenOf(clause) : `something else than ${clause}`} (kubectl edit)`,
    name,
  );
}

function listed(sentence: string): Repair | undefined {
  const [, key, given, allowed] = NOT_ONE_OF.exec(sentence) ?? [];
  if (key !== undefined && given !== undefined && allowed !== undefined)
    return listedValue(given, allowed.trim(), key);
  const [, value, known] = LISTED.exec(sentence) ?? [];
  if (value === undefined || known === undefined) return undefined;
  const name = new RegExp(NAME).exec(sentence.slice(0, sentence.indexOf(value)))?.[1] ?? '';
  return listedValue(value, known.trim(), name);
}

function refused(sentence: string): Repair | undefined {
  const [, name] = REFUSED.exec(sentence) ?? [];
  if (name === undefined || INNER.test(name)) return undefined;
  return repair(
    `Start the program without ${called(name)}, or without what the sentence names beside it (kubectl edit)`,
    name,
  );
}

function missing(sentence: string): Repair | undefined {
  const [, asked, by] = TO_SET.exec(sentence) ?? [];
  const name = asked ?? REQUIRED.exec(sentence)?.[1] ?? MISSING.exec(sentence)?.[1];
  if (name === undefined || INNER.test(name)) return undefined;
  const without = by === undefined ? '' : `, or start the program without ${called(by)}`;
  return repair(`Set ${called(name)}${without} (kubectl edit)`, name);
}

/** "power of two" is what a value is; "> 0" what it compares to. */
function takenOf(clause: string): string {
  const plain = clause.trim();
  return COMPARED.test(plain) ? `a value that is ${plain}` : plain;
}

/** A key of Python's that may be a flag of the command or a key of a file. */
function called(name: string): string {
  return isKey(name) ? `${name} (or --${name.replaceAll('_', '-')})` : name;
}

function written(name: string, value: string | undefined): string {
  if (value === undefined) return called(name);
  if (name.startsWith('--')) return `${name} ${value}`;
  return isKey(name) ? `${called(name)} to ${value}` : `${name}=${value}`;
}

/** Without a path: those with one stand in a file. */
function isKey(name: string): boolean {
  return /^[a-z]\w+$/.test(name);
}

function repair(says: string, name: string, value?: string): Repair {
  const isVariable = /^[A-Z]/.test(name);
  return {
    says: SIZE_OF_BLOCKS.test(name) ? `${says}; router and pair must follow` : says,
    why: WHY,
    commands: [
      isVariable
        ? environmentOf('the program', value === undefined ? name : `${name}=${value}`)
        : argumentsOf('the program', name.startsWith('--') ? written(name, value) : name),
    ],
  };
}
