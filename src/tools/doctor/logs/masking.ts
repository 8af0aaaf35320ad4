import { withoutControls } from '../../../core/text/printable.js';
import { MAX_ORIGIN_CHARS } from '../sightings.js';

const MASK = '[masked]';

/** What carries its secret by its own form, wherever it stands. */
const TELLING_FORMS = [
  /\b(?:Bearer|Basic) +[^\s'",}\]]+/gi,
  /\b(?:hf_|sk-|nvapi-|ghp_|gho_|glpat-|xox[abp]-|AKIA)[A-Za-z0-9_-]{6,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,2}/g,
];
/** `scheme://user:password@host`. */
const CREDENTIALS_IN_URL = /(\b[a-z][a-z0-9+.-]{1,20}:\/\/)[^/\s@]{1,256}@/gi;
/** Settings whose value is a secret: `'api_key': ['…']`, `authorization=…`, `HF_TOKEN: …`. */
const SECRET_SETTINGS =
  /(?<![\w-])([\w-]{0,40}(?:api[-_]?keys?|secret(?:s|[-_]\w{1,20})?|passwords?|passwd|hf[-_]token|auth[-_]token|access[-_](?:token|key)\w{0,20}|admin[-_]key|ssl[-_]keyfile[-_]password)|x-api-key|authorization|cookie|token)(['"]?\s{0,4}[:=]\s{0,4})(\[[^\]]{0,2000}\]?|'[^']{0,2000}'?|"[^"]{0,2000}"?|[^\s,;)}\]]+)/gi;

/**
 * Where texts of people begin in the lines of the programs that are read here,
 * as such and as JSON within JSON. Of what is behind them nothing is read or kept.
 */
export const PROMPT_SIGNS: readonly string[] = [
  'Received request ',
  'prompt_token_ids',
  'input_text',
  'prompt: ',
  'GenerateReqInfo(',
  'messages: [',
  ...['prompt', 'messages', 'content'].flatMap((name) => [`${name}":`, `${name}\\":`, `${name}':`]),
];

/** Replaces what can be a secret. */
export function masked(text: string): string {
  const without = TELLING_FORMS.reduce((left, form) => left.replace(form, MASK), text);
  return without
    .replace(CREDENTIALS_IN_URL, `$1${MASK}@`)
    .replace(SECRET_SETTINGS, (whole, name: string, sign: string, value: string) =>
      value === MASK || /^(?:None|null|true|false)$/i.test(value) ? whole : `${name}${sign}${MASK}`,
    );
}

/** The text up to where a prompt begins. */
function withoutPrompt(text: string): string {
  const starts = PROMPT_SIGNS.map((sign) => text.indexOf(sign)).filter((at) => at !== -1);
  return starts.length === 0 ? text : `${text.slice(0, Math.min(...starts))}${MASK}`;
}

const LEAD_CHARS = 80;

/** A line as an origin keeps it: its begin and what is around `about`, without secrets, prompts and control characters. */
export function excerptOf(line: string, about: string): string {
  const text = withoutControls(masked(withoutPrompt(line)).replace(/\s+/g, ' ').trim());
  if (text.length <= MAX_ORIGIN_CHARS) return text;
  const at = text.indexOf(about);
  if (at <= MAX_ORIGIN_CHARS - LEAD_CHARS) return `${text.slice(0, MAX_ORIGIN_CHARS - 1)}…`;
  const room = MAX_ORIGIN_CHARS - LEAD_CHARS - 3;
  const end = Math.min(text.length, Math.max(at - 20 + room, at));
  return `${text.slice(0, LEAD_CHARS)}… ${text.slice(end - room, end)}${end < text.length ? '…' : ''}`.slice(
    0,
    MAX_ORIGIN_CHARS,
  );
}
