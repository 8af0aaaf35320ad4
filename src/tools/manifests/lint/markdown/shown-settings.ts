/** A block size that an example shows. */
export interface ShownSetting {
  /** As it is written: `DYN_KV_CACHE_BLOCK_SIZE`, `--kv-cache-block-size`, `block_size`. */
  readonly name: string;
  readonly value: string;
  /** Offset in the code. */
  readonly at: number;
  readonly note: NotePlace;
}

/** Where a note about it goes. */
export type NotePlace =
  /** At the end of a line, as a comment. */
  | { readonly type: 'behind'; readonly at: number }
  /** As a line of its own before the line that begins there: the line itself can carry no comment. */
  | { readonly type: 'above'; readonly at: number; readonly indent: string }
  /** The language has no comments. */
  | { readonly type: 'none' };

/** The router's side: variables and flags whose number is the router's own idea of the block size. */
const ROUTER_SETTING =
  /(?<name>DYN_KV_CACHE_BLOCK_SIZE|DYN_ROUTER_BLOCK_SIZE|--kv-cache-block-size|--router-block-size)(?:["']?\s*[=:,]?\s*["']?)(?<value>\d+)/;

/** The same variable in a list of a container's `env`: name and value stand on two lines. */
const ENV_NAME = /name:\s*["']?(?<name>DYN_KV_CACHE_BLOCK_SIZE|DYN_ROUTER_BLOCK_SIZE)["']?\s*(?:#.*)?$/;
const ENV_VALUE = /^\s*(?:-\s*)?value:\s*["']?(?<value>\d+)/;

/** `--block-size` is the engine's own, but for programs that hash by themselves. */
const INDEXER_SETTING = /dynamo\.(?:indexer|router)\b.*(?<name>--block-size)[= ](?<value>\d+)/;

/** An argument of the router's or index's classes in Python. */
const PYTHON_SETTING = /(?<![\w-])(?<name>(?:kv_)?(?:cache_)?block_size)\s*=\s*(?<value>\d+)/;

const PYTHON: readonly string[] = ['python', 'py', 'python3'];
const WITHOUT_COMMENTS: readonly string[] = ['json'];

/** Lines of one example that are looked at. */
const MAX_LINES = 10_000;

/** Every block size of the router's side that a piece of code sets to a number. */
export function findSettings(code: string, language: string): readonly ShownSetting[] {
  const lines = linesOf(code);
  return lines.flatMap((line, index) => {
    const found = matchLine(lines, index, language);
    if (found === undefined) return [];
    const { name, value, column } = found;
    return [{ name, value, at: line.start + column, note: noteFor(lines, found.noteLine, language) }];
  });
}

interface Line {
  readonly start: number;
  /** Without the line's end. */
  readonly text: string;
}

function linesOf(code: string): readonly Line[] {
  const lines: Line[] = [];
  let start = 0;
  for (const text of code.split('\n').slice(0, MAX_LINES)) {
    lines.push({ start, text: text.replace(/\r$/, '') });
    start += text.length + 1;
  }
  return lines;
}

interface Match {
  readonly name: string;
  readonly value: string;
  readonly column: number;
  /** The line behind which the note goes. */
  readonly noteLine: number;
}

function matchLine(lines: readonly Line[], index: number, language: string): Match | undefined {
  const text = lines[index]?.text ?? '';
  // A comment shows nothing that is run.
  if (/^\s*(?:#|\/\/)/.test(text)) return undefined;
  const patterns = PYTHON.includes(language)
    ? [ROUTER_SETTING, PYTHON_SETTING]
    : [ROUTER_SETTING, INDEXER_SETTING];
  for (const pattern of patterns) {
    const { groups, index: column } = pattern.exec(text) ?? {};
    const { name, value } = groups ?? {};
    if (name !== undefined && value !== undefined && column !== undefined)
      return { name, value, column: Math.max(column, text.indexOf(name, column)), noteLine: index };
  }
  const env = ENV_NAME.exec(text);
  const value = ENV_VALUE.exec(lines[index + 1]?.text ?? '')?.groups?.['value'];
  const name = env?.groups?.['name'];
  if (env === null || name === undefined || value === undefined) return undefined;
  return { name, value, column: text.indexOf(name), noteLine: index + 1 };
}

function noteFor(lines: readonly Line[], index: number, language: string): NotePlace {
  if (WITHOUT_COMMENTS.includes(language)) return { type: 'none' };
  const line = lines[index] ?? { start: 0, text: '' };
  const isContinued = (at: number): boolean => /\\\s*$/.test(lines[at]?.text ?? '');
  if (!isContinued(index) && !isContinued(index - 1) && hasBalancedQuotes(line.text))
    return { type: 'behind', at: line.start + line.text.trimEnd().length };
  // A comment behind a line that goes on would split the command in two.
  let first = index;
  while (first > 0 && isContinued(first - 1)) first -= 1;
  const begin = lines[first] ?? line;
  // Inside a quote every line begins with `>`; one that does not would end it.
  return { type: 'above', at: begin.start, indent: /^[\s>]*/.exec(begin.text)?.[0] ?? '' };
}

/** Whether the line's end lies outside of quotes. */
function hasBalancedQuotes(text: string): boolean {
  let open = '';
  for (const character of text) {
    if (open === '' && (character === '"' || character === "'")) open = character;
    else if (character === open) open = '';
  }
  return open === '';
}
