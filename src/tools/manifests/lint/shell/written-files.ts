import { posix } from 'node:path';
import type { Command, Redirection, Word as ShellWord, WordPart } from 'unbash';
import { type InnerText, partOf } from '../text/scalar-text.js';
import type { Span } from '../text/span.js';
import { UNKNOWN } from './words.js';

/** The files that a script has written so far, by their paths; undefined for a text that is not known. */
export type WrittenFiles = ReadonlyMap<string, InnerText | undefined>;

/** What the reading of a script knows of its words. */
export interface Expansions {
  /** A word as one text, with `UNKNOWN` in it. */
  textOf(word: ShellWord): string;
  textOfPart(part: WordPart): string;
}

/** A file that a command writes. */
export interface Written {
  readonly path: string;
  readonly text: InnerText | undefined;
}

/** Tools that change files which they name, or make them of others. */
const CHANGING: readonly string[] = [
  'sed',
  'yq',
  'jq',
  'cp',
  'mv',
  'rm',
  'envsubst',
  'patch',
  'ln',
  'install',
];

/** The files that a command writes: `cat > FILE <<EOF`, `tee FILE <<EOF`, `echo TEXT > FILE`, and others with texts that are not known. */
export function writtenBy(
  command: Command,
  script: InnerText,
  expansions: Expansions,
  input?: InnerText,
): readonly Written[] {
  const name = command.name === undefined ? '' : posix.basename(expansions.textOf(command.name));
  const args = command.args.flatMap((one) => (one.type === 'Word' ? [expansions.textOf(one)] : []));
  const given = input ?? documentOf(command.redirects, script, expansions);
  const output =
    name === 'cat' && args.every((arg) => arg === '-')
      ? given
      : name === 'echo' || name === 'printf'
        ? spokenBy(command, script, expansions)
        : undefined;
  const redirected = command.redirects.flatMap((one): readonly Written[] => {
    if (
      one.type !== 'Redirect' ||
      one.target === undefined ||
      !one.operator.startsWith('>') ||
      isNumbered(one)
    )
      return [];
    const path = expansions.textOf(one.target);
    return [{ path, text: one.operator === '>>' ? undefined : output }];
  });
  const files = args.filter((arg) => !arg.startsWith('-'));
  if (name === 'tee')
    return files.map((path) => ({
      path,
      text: args.includes('-a') || args.includes('--append') ? undefined : given,
    }));
  return CHANGING.includes(name)
    ? [...redirected, ...files.map((path) => ({ path, text: undefined }))]
    : redirected;
}

/** The document that a command without a file of its own passes on: `cat <<EOF | …`. */
export function passedOn(command: Command, script: InnerText, expansions: Expansions): InnerText | undefined {
  const name = command.name === undefined ? '' : expansions.textOf(command.name);
  return name === 'cat' && command.args.length === 0
    ? documentOf(command.redirects, script, expansions)
    : undefined;
}

/** Whether a redirection is of another stream than standard output: `2> errors.log`. */
function isNumbered({ descriptor }: Redirection): boolean {
  return descriptor !== undefined && !(descriptor.type === 'FileDescriptor' && descriptor.value === 1);
}

/** The text of a here-document as the program gets it. */
function documentOf(
  redirects: readonly Redirection[],
  script: InnerText,
  expansions: Expansions,
): InnerText | undefined {
  const document = redirects.find((one) => one.type === 'HereDoc');
  if (document?.type !== 'HereDoc') return undefined;
  const { body, delimiter, operator } = document;
  const isPlain = delimiter?.quoted === true || body.parts === undefined || body.parts.length === 0;
  if (isPlain && operator === '<<' && (delimiter?.quoted === true || !body.text.includes('\\')))
    return partOf(script, body.pos, body.end);
  const pieces = isPlain
    ? [{ text: body.text, at: body.pos as number | undefined }]
    : (body.parts ?? []).map((part) =>
        part.type === 'Literal'
          ? { text: part.text, at: part.pos as number | undefined }
          : { text: expansions.textOfPart(part), at: undefined },
      );
  return pieced(pieces, script, script.spanOf(body.pos, body.end), operator === '<<-');
}

/** A text of pieces of the script and of others. */
function pieced(
  pieces: readonly { readonly text: string; readonly at: number | undefined }[],
  script: InnerText,
  whole: Span,
  withoutTabs: boolean,
): InnerText {
  const characters: string[] = [];
  const offsets: (number | undefined)[] = [];
  for (const { text, at } of pieces)
    for (let index = 0; index < text.length; index += 1) {
      const character = text.charAt(index);
      const last = characters.at(-1);
      if (withoutTabs && character === '\t' && (last === undefined || last === '\n')) continue;
      characters.push(character);
      offsets.push(at === undefined ? undefined : at + index);
    }
  return {
    value: characters.join(''),
    spanOf(start, end) {
      const first = offsets[start];
      const last = end > start ? offsets[end - 1] : undefined;
      return first !== undefined && last !== undefined && last - first === end - 1 - start
        ? script.spanOf(first, last + 1)
        : { ...whole, isExact: false };
    },
  };
}

/** What `echo` and `printf` write, where it is one text without escapes. */
function spokenBy(command: Command, script: InnerText, expansions: Expansions): InnerText | undefined {
  const words = command.args.flatMap((one) => (one.type === 'Word' ? [one] : []));
  const [first] = words;
  const text = first === undefined ? undefined : expansions.textOf(first);
  if (words.length !== 1 || first === undefined || text === undefined || /[\\%]/.test(text)) return undefined;
  if (text.includes(UNKNOWN)) return undefined;
  const at = first.text.indexOf(text);
  return at === -1
    ? { value: text, spanOf: () => ({ ...script.spanOf(first.pos, first.end), isExact: false }) }
    : partOf(script, first.pos + at, first.pos + at + text.length);
}
