import { posix } from 'node:path';
import type { Command, Pipeline, Redirection, Word as ShellWord, WordPart } from 'unbash';
import { type InnerText, partOf } from '../text/scalar-text.js';
import type { Span } from '../text/span.js';
import { UNKNOWN } from './words.js';

/** The files that a script has written so far, by their paths from where it began. */
export type WrittenFiles = ReadonlyMap<string, WrittenFile>;

/** One of them. */
export interface WrittenFile {
  /** Undefined where it is not known. */
  readonly text: InnerText | undefined;
  /** The path as it is written: of two that are not known as a whole, only those that are written alike are one. */
  readonly written: string;
}

/** What the reading of a script knows of its words. */
export interface Expansions {
  /** A word as one text, with `UNKNOWN` in it. */
  textOf(word: ShellWord): string;
  textOfPart(part: WordPart): string;
}

/** A file that a command writes. */
export interface Written extends WrittenFile {
  readonly path: string;
}

/** A path without quotes and braces, as it stands in a script. */
export function asWritten(path: string): string {
  return path.replace(/["'{}]/g, '').replace(/^(?:\.\/)+/, '');
}

/** Flags behind which programs name what they write. */
const OUTPUT = /^--?(?:[oO]|out\w*|output[\w-]*|dest\w*|save[\w-]*|write[\w-]*|target)$/;

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
  const words = command.args.flatMap((one) => (one.type === 'Word' ? [one] : []));
  const textOf = (one: ShellWord): string => expansions.textOf(one);
  const given = input ?? documentOf(command.redirects, script, expansions);
  const outputOf = (): InnerText | undefined => {
    if (name === 'echo' || name === 'printf') return spokenBy(command, script, expansions);
    return name === 'cat' && words.every((one) => textOf(one) === '-') ? given : undefined;
  };
  const redirected =
    command.redirects.length === 0 ? [] : redirectedBy(command.redirects, expansions, outputOf());
  const isNaming = name === 'tee' || CHANGING.includes(name);
  const isWhole = name === 'tee' && !words.map(textOf).some((arg) => arg === '-a' || arg === '--append');
  const named = words.flatMap((one, at): readonly Written[] => {
    if (!isNaming && !isOutputFlag(words[at - 1], textOf)) return [];
    const path = textOf(one);
    return path.startsWith('-')
      ? []
      : [{ path, written: asWritten(one.text), text: isWhole ? given : undefined }];
  });
  return name === 'tee' ? named : [...redirected, ...named];
}

/** Whether what follows a word is a file that is written. Most words are looked at as they stand alone. */
function isOutputFlag(word: ShellWord | undefined, textOf: (word: ShellWord) => string): boolean {
  return word !== undefined && /^["'$`-]/.test(word.text) && OUTPUT.test(textOf(word));
}

/** The files that standard output goes to, of a command or of a group of them. */
export function redirectedBy(
  redirects: readonly Redirection[],
  expansions: Expansions,
  output?: InnerText,
): readonly Written[] {
  return redirects.flatMap((one): readonly Written[] => {
    const isOutput = one.type === 'Redirect' && /^&?>/.test(one.operator) && !isNumbered(one);
    if (!isOutput || one.target === undefined) return [];
    const path = expansions.textOf(one.target);
    return [{ path, written: asWritten(one.target.text), text: one.operator === '>>' ? undefined : output }];
  });
}

/** The document that commands of a pipe get: `cat <<EOF | tee FILE | …`. */
export function pipedTo(
  { commands }: Pipeline,
  script: InnerText,
  expansions: Expansions,
): ReadonlyMap<Command, InnerText> {
  const inputs = new Map<Command, InnerText>();
  let input: InnerText | undefined;
  for (const command of commands) {
    if (command.type !== 'Command') break;
    if (input !== undefined) inputs.set(command, input);
    input = passedOn(command, script, expansions, input);
    if (input === undefined) break;
  }
  return inputs;
}

/** The document that a command without a file of its own passes on. */
function passedOn(
  command: Command,
  script: InnerText,
  expansions: Expansions,
  input?: InnerText,
): InnerText | undefined {
  const name = command.name === undefined ? '' : expansions.textOf(command.name);
  if (name === 'tee') return input;
  return name === 'cat' && command.args.length === 0
    ? (input ?? documentOf(command.redirects, script, expansions))
    : undefined;
}

/** Whether a redirection is of another stream than standard output: `2> errors.log`. */
function isNumbered({ descriptor }: Redirection): boolean {
  return descriptor !== undefined && !(descriptor.type === 'FileDescriptor' && descriptor.value === 1);
}

/** How a line of YAML begins whose value is a name. Names put things apart: one that is not known stays as it is written, but for its braces. */
const BEFORE_NAME = /(?:^|[\s{,"'])(?:name|namespace)["']?:[ \t]*["']?[\w.-]*$/;

/** The text of a here-document as the program gets it. */
export function documentOf(
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
    ? [{ text: body.text, at: body.pos }]
    : (body.parts ?? []).map((part, index, parts) => {
        if (part.type === 'Literal') return { text: part.text, at: part.pos };
        const text = expansions.textOfPart(part);
        const isName = text.includes(UNKNOWN) && BEFORE_NAME.test(lineOf(parts[index - 1]));
        return { text: isName ? part.text.replace(/[^\w$.-]/g, '') : text, at: undefined };
      });
  return pieced(pieces, script, script.spanOf(body.pos, body.end), operator === '<<-');
}

/** What stands on a line in front of an expansion. */
function lineOf(part: WordPart | undefined): string {
  const text = part?.type === 'Literal' ? part.text : '';
  return text.slice(text.lastIndexOf('\n') + 1);
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
      if (first !== undefined && last !== undefined && last - first === end - 1 - start)
        return script.spanOf(first, last + 1);
      // What a variable gives stands behind what is written in front of it.
      const near = offsets.slice(0, start + 1).findLast((offset) => offset !== undefined);
      return { ...(near === undefined ? whole : script.spanOf(near, near + 1)), isExact: false };
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
