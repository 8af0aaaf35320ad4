import { ENGINES } from '../../../../engines/catalogue/engines.js';
import type { LogLine } from '../../../../engines/diagnosis/log-line.js';
import { type LogRule, rule } from '../../../../engines/diagnosis/log-rule.js';
import { plain } from './fault-classes.js';
import { goesOnBelow, refusedPart } from './parser-errors.js';
import { pickerRefusalText } from './picker-config-errors.js';

/** Of the configuration of an endpoint picker, whose loader wraps each error in others. */
const BY_PICKER = [
  'Failed to parse configuration',
  'Failed to parse plugins configuration',
  'failed to instantiate plugins',
  'Failed to populate controller config',
] as const;
/** Of the picker where a file follows, and of many programs. */
const NO_CONFIG = 'failed to load config';
/** Of the routing sidecar of llm-d, which has its flags in the error. */
const BY_SIDECAR = ['Failed to complete configuration', 'Invalid configuration'] as const;
const BY_ARGUMENTS = [
  'Failed to validate flags',
  'error: unrecognized arguments: ',
  'error: argument --',
  'error: the following arguments',
  'error: ambiguous option: ',
] as const;

/** The same of parsers that name no program and no level, and of Kubernetes: each names one setting. */
const REFUSED_KEYS = [
  "error: unexpected argument '",
  "error: invalid value '",
  'required arguments were not provided',
  "' cannot be used with",
  'flag provided but not defined: ',
  'unknown flag: --',
  '" for flag -',
  ': Invalid value: ',
  ': Unsupported value: ',
  ': Required value',
  'cannot be handled as a',
  ' denied the request: ',
] as const;
/** What a program writes in front of its errors of arguments: engines and routers, whatever the argument is. */
const OF_SERVERS =
  /(?:^|[\s|])(?:vllm(?: serve)?|api_server\.py|sglang(?: serve)?|launch_(?:server|router)\.py|trtllm-serve|trtllm-llmapi-launch|lmcache|lmcache_\w{1,30}|dynamo[\w.-]{0,40}|vllm-router|router\.py|__main__\.py): error: /;
/** A script that somebody wrote around an engine. */
const SERVES = /(?:^|[\s|])[\w-]{0,40}(?:serve|infer|llm|worker|engine)[\w-]{0,40}\.py: error: /;
const OPENS_PYDANTIC = /\d validation errors? for \w{1,80}\s*$/;
const OF_CACHES = /kv|block-?size|page-?size|cache|disagg|router|radix|prefix|transfer|tokens-per-block/i;
/** What the sidecar's own error begins with. */
const OF_SIDECAR =
  /^(?:flags )?--[a-z]|^(?:invalid port range|start port|port range|failed to (?:read|unmarshal) sidecar configuration|failed to parse target URL|resolving --)/;

/** Sentences of programs that do not start with the settings that they have. */
export const REFUSED_SETTING_RULES: readonly LogRule[] = [
  ...BY_PICKER.map((needle) =>
    rule(needle, (line, found) => {
      const sentence = behind(line, needle);
      // The picker's tokenizer is not there yet: its own rule has it.
      if (/\bdial (?:unix|tcp)\b/.test(sentence) && /token|render/i.test(sentence)) {
        const value = plain(`no tokenizer${sentence.startsWith(':') ? '' : ': '}${sentence}`);
        found.addSignal('picker_scores_failed', line, { value, about: needle });
        return;
      }
      const value = plain(sentence.length > 3 ? pickerRefusalText(sentence) : `${needle}${sentence}`);
      found.addSignal('settings_refused', line, { value, about: needle });
    }),
  ),
  rule(NO_CONFIG, (line, found) => {
    const words = wordsOf(line);
    const isFromFile = line.text.includes(`${NO_CONFIG} from a file '`);
    // What a controller cannot reconcile it tries again.
    if (isFromFile || line.fields?.['controller'] !== undefined) return;
    const value = plain(
      words.includes(NO_CONFIG) ? words.slice(words.indexOf(NO_CONFIG)) : `${NO_CONFIG}: ${words}`,
    );
    found.addSignal('settings_refused', line, { value, about: NO_CONFIG });
  }),
  ...BY_SIDECAR.map((needle) =>
    rule(needle, (line, found) => {
      const error = line.fields?.['error'];
      if (typeof error !== 'string' || !OF_SIDECAR.test(error)) return;
      found.addSignal('settings_refused', line, { value: plain(`llm-d's sidecar: ${error}`), about: needle });
    }),
  ),
  ...BY_ARGUMENTS.map((needle) =>
    rule(needle, (line, found) => {
      // Of a value that is JSON pydantic says in the lines below what is wrong.
      if (OPENS_PYDANTIC.test(line.text)) return;
      const sentence = behind(line, needle);
      const isOfFleet =
        OF_CACHES.test(sentence) ||
        // Pasted without the name of its program.
        (line.text.startsWith(needle) && namesEngineFlag(sentence)) ||
        OF_SERVERS.test(line.text) ||
        (SERVES.test(line.text) && namesEngineFlag(sentence));
      if (needle.startsWith('error: ') && !isOfFleet) return;
      const value = plain(`${needle.replace(/^error: /, '')}${sentence}`);
      found.addSignal('settings_refused', line, { value, about: needle });
    }),
  ),
  ...REFUSED_KEYS.map((needle) =>
    rule(needle, (line, found) => {
      if (goesOnBelow(line.text)) return;
      const value = refusedPart(wordsOf(line));
      if (value !== undefined) found.addSignal('settings_refused', line, { value, about: needle });
    }),
  ),
];

/** Whether an engine has one of the flags. */
function namesEngineFlag(sentence: string): boolean {
  const names = sentence.match(/--[a-z][\w-]{5,60}/g) ?? [];
  return names.some((flag) =>
    ENGINES.some(({ launch }) => launch?.arguments?.has(flag.slice(2).replaceAll('-', '_')) === true),
  );
}

/** The error of a line, or what stands behind its needle. */
function behind(line: LogLine, needle: string): string {
  const error = line.fields?.['error'];
  return typeof error === 'string'
    ? `: ${error}`
    : line.text.slice(line.text.indexOf(needle) + needle.length);
}

/** A line with its error, where that is a field of its own. */
function wordsOf({ text, fields }: LogLine): string {
  const error = fields?.['error'] ?? fields?.['err'];
  return typeof error === 'string' ? error : text;
}
