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

/**
 * What `lint` finds in the commands that stand in a text, one with the other: an engine and a router with different block
 * sizes, engines of one model with different seeds. Nothing else of commands counts: beside them a log says what really ran.
 */
export async function quotedCommands({ file, text }: NamedText): Promise<Partial<EvidencePart>> {
  const script = commandsOf(text);
  if (script === undefined) return {};
  // Its parsers are loaded where there is something for them.
  const { manifestsPart } = await import('./manifests.js');
  const {
    findings = [],
    sizes = [],
    settings = [],
  } = manifestsPart(file, [{ file: `${file}${SCRIPT}`, text: script }]);
  const own = findings.map(({ fix: _edits, related = [], ...finding }) => ({
    ...finding,
    file: plain(finding.file),
    related: related.map((one) => ({ ...one, file: plain(one.file) })),
  }));
  if (own.length === 0) return {};
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

/** The text with its commands alone, each in its line; undefined with fewer than two, of which nothing can contradict another. */
function commandsOf(text: string): string | undefined {
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
  return commands < 2 ? undefined : kept.join('\n');
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
