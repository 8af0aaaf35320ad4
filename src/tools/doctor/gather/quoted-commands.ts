import type { NamedText } from '../../manifests/lint/fixes/apply-fixes.js';
import type { EvidencePart, Origin } from '../evidence.js';

/** What may stand before a command: the prompt of a shell, the mark of `set -x`, the word of a script that says what it starts. */
const BEFORE =
  /^\s{0,40}(?:\(+[\w .-]{1,60}\)+ ?)?(?:\[?[\w.-]{1,60}@[^\s$#]{1,80}(?: [^\s$#]{1,80})?[$#] |[$#>] |\++ |(?:Command|CMD|Cmd|Running|Executing|Launching|Starting)(?: command)?: )?/;
/** How a command begins that starts a program with a KV cache or a router, up to that program. A value that begins with a quote is quoted: read in two ways, forty of them would take years. */
const STARTS =
  /^(?:(?:sudo|nohup|exec|env|time|setsid)\s+|(?:export\s+)?[A-Za-z_]\w{0,60}=(?:"[^"]{0,400}"|'[^']{0,400}'|(?:[^\s"']\S{0,400})?)\s+){0,40}(?:\S{0,200}\/)?(?:vllm\s+serve|sglang\s+serve|trtllm-serve|vllm-router|dynamo-run|python[\d.]{0,5}\s+-m\s+(?:vllm|sglang|dynamo|sglang_router|vllm_router)[.\s]|(?:docker|podman|nerdctl)\s+run)\b/;
const EXPORTS = /^export\s+[A-Za-z_]\w{0,60}=/;
/** A variable before the command, in a line of its own that goes on in the next one. */
const SETS = /^[A-Za-z_]\w{0,60}=(?:"[^"]{0,400}"|'[^']{0,400}'|(?:[^\s"']\S{0,400})?)\s+\\$/;
/** A further argument; the backslashes of a command are lost where it was pasted as prose. */
const ARGUMENT = /^\s{0,40}--?[a-z][\w-]{1,60}(?:[\s=]|$)/;
const GOES_ON = /\\\s*$/;
const MAX_LINES = 80;
/** What a script's text is read as. */
const SCRIPT = '.sh';

/** Rules that look at one command alone, with its variables. */
const OF_ONE: readonly string[] = ['cache-settings-unread', 'cache-store-address'];
/** Lines of a cache behind an engine: it runs, whatever the command that is quoted says. */
const CACHE_RUNS =
  /\bLMCache (?:DEBUG|INFO|WARNING|ERROR)\b|\blmcache[./]v1\b|\bkvbm[:.]|\bFLEXKV\]|HiCache (?:storage|host)/;

/**
 * What `lint` finds in the commands that stand in a text, one with the other: an engine and a router with different block
 * sizes, engines of one model with different seeds; and in one alone: settings of a cache that it does not switch on.
 * Nothing else of commands counts: beside them a log says what really ran.
 */
export async function quotedCommands({ file, text }: NamedText): Promise<Partial<EvidencePart>> {
  const { script, count } = commandsOf(text);
  if (count === 0) return {};
  // Its parsers are loaded where there is something for them.
  const { manifestsPart } = await import('./manifests.js');
  const {
    findings = [],
    sizes = [],
    settings = [],
  } = manifestsPart(file, [{ file: `${file}${SCRIPT}`, text: script }]);
  const runs = CACHE_RUNS.test(text);
  const own = findings
    .filter(({ ruleId }) => (OF_ONE.includes(ruleId) ? !runs : count > 1))
    .map(({ fix: _edits, related = [], ...finding }) => ({
      ...finding,
      file: plain(finding.file),
      related: related.map((one) => ({ ...one, file: plain(one.file) })),
    }));
  if (own.length === 0) return {};
  if (own.every(({ ruleId }) => OF_ONE.includes(ruleId))) return { findings: own };
  return {
    findings: own,
    sizes: sizes.map((one) => ({ ...one, origin: placed(one.origin) })),
    settings: settings.map((one) => ({ ...one, origin: placed(one.origin) })),
  };
}

function plain(name: string): string {
  return name.endsWith(SCRIPT) ? name.slice(0, -SCRIPT.length) : name;
}

function placed(origin: Origin): Origin {
  return { ...origin, place: origin.place.replace(`${SCRIPT}:`, ':') };
}

/** The text with its commands alone, each in its line, and how many there are. */
function commandsOf(text: string): { readonly script: string; readonly count: number } {
  const lines = text.split(/\r?\n/);
  const kept: string[] = lines.map(() => '');
  let commands = 0;
  for (let at = 0; at < lines.length; at += 1) {
    const line = (lines[at] ?? '').replace(BEFORE, '');
    const starts = STARTS.test(line);
    if (!starts && !EXPORTS.test(line) && !SETS.test(line)) continue;
    const end = endOf(lines, at, line);
    const words = [line, ...lines.slice(at + 1, end + 1)];
    if (starts || STARTS.test(words.join(' ').replace(/\\\s/g, ' '))) commands += 1;
    for (const [index, one] of words.entries())
      kept[at + index] =
        index < words.length - 1 && isClosed(words.slice(0, index + 1).join('\n'))
          ? `${one.replace(GOES_ON, '')} \\`
          : one.replace(GOES_ON, '');
    at = end;
  }
  return { script: kept.join('\n'), count: commands };
}

/** The last line of a command: it goes on behind a backslash, within quotes, and where a further argument follows. */
function endOf(lines: readonly string[], start: number, first: string): number {
  let whole = first;
  let end = start;
  while (end + 1 < lines.length && end - start < MAX_LINES) {
    const next = lines[end + 1] ?? '';
    const goesOn = GOES_ON.test(whole) || !isClosed(whole) || ARGUMENT.test(next);
    if (!goesOn) break;
    whole = `${whole}\n${next}`;
    end += 1;
  }
  return end;
}

/** Whether quotes that were opened are closed again. */
function isClosed(text: string): boolean {
  const quotes = text.replace(/\\[\s\S]/g, '').match(/'[^']*'|"[^"]*"|['"]/g) ?? [];
  return quotes.every((quote) => quote.length > 1);
}
