import { isDeepStrictEqual } from 'node:util';
import type { Document } from 'yaml';
import { messageOf } from '../../../edge/platform/describe-error.js';
import { lineEndOf } from '../lines.js';
import { readSourceFile, type SourceFile } from '../source-file.js';
import { removeBlocks } from './blocks.js';
import { type Change, mergeChanges } from './change.js';
import { NodeIndex } from './node-index.js';
import { InjectRefusal, refuseAt } from './refusal.js';
import { renderYaml } from './render.js';
import { Splicer } from './splice.js';

/**
 * The text of a file after changes, with new documents at its end. What comes
 * out is read again: it must hold what was meant and nothing else, and give
 * back every byte when the blocks are taken out. Otherwise the file is refused
 * (`InjectRefusal`) rather than damaged.
 */
export function applyChanges(
  file: SourceFile,
  changes: readonly Change[],
  documents: readonly unknown[],
): string {
  if (changes.length === 0 && documents.length === 0) return file.text;
  refuseOddText(file);
  const indexes = new Map<Document.Parsed, NodeIndex>();
  const indexOf = ({ document }: Change): NodeIndex => {
    const index = indexes.get(document) ?? new NodeIndex(document);
    indexes.set(document, index);
    return index;
  };
  const merged = mergeChanges(changes);
  const splicer = new Splicer(file, indexOf);
  for (const change of merged) splicer.add(change);
  const eol = lineEndOf(file.text);
  if (documents.length > 0)
    splicer.append(documents.map((document) => `---${eol}${renderYaml(document, eol)}`).join(''));
  const text = splicer.finish();
  verify(file, text, expectedDocuments(file, merged, documents, indexOf));
  return text;
}

/** Line ends to some readers of YAML and not to others. */
const LINE_ENDS = /\r(?!\n)|[\u0085\u2028\u2029]/;

/** What no YAML may hold, though not every reader minds. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/;

function refuseOddText(file: SourceFile): void {
  const lineEnd = LINE_ENDS.exec(file.text);
  if (lineEnd !== null)
    throw refuseAt(
      file,
      lineEnd.index,
      `the character ${codePoint(lineEnd[0])} is a line end to some readers of YAML and none to others; take it out`,
    );
  const control = CONTROLS.exec(file.text);
  if (control !== null)
    throw refuseAt(
      file,
      control.index,
      `the character ${codePoint(control[0])} may not be in YAML; take it out`,
    );
}

function codePoint(character: string): string {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** The documents as objects, with the changes made there. */
function expectedDocuments(
  file: SourceFile,
  changes: readonly Change[],
  documents: readonly unknown[],
  indexOf: (change: Change) => NodeIndex,
): readonly unknown[] {
  const changed = file.documents.map((document) => {
    const object = plainObject(file, document);
    for (const change of changes.filter((one) => one.document === document)) {
      const path = indexOf(change).pathTo(change.map);
      const map = path?.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], object);
      if (map !== undefined) changeObject(map as Record<string, unknown>, change);
    }
    return object;
  });
  return [...changed, ...documents];
}

/** Values of one document, those that aliases repeat counted each time. */
const MAX_VALUES = 1_000_000;

/** A document as an object in which nothing stands twice: a change of one place is then one of that place alone. */
function plainObject(file: SourceFile, document: Document.Parsed): unknown {
  let values = 0;
  const copy = (value: unknown): unknown => {
    values += 1;
    if (values > MAX_VALUES) throw new RangeError(`it stands for more than ${MAX_VALUES} values`);
    if (Array.isArray(value)) return value.map(copy);
    if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
      return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copy(inner)]));
  };
  try {
    return copy(document.toJS());
  } catch (error) {
    const why = messageOf(error);
    throw refuseAt(file, document.range[0], `its aliases cannot be followed: ${why}`);
  }
}

function changeObject(map: Record<string, unknown>, change: Change): void {
  if (change.type === 'pair') {
    map[change.key] = change.value;
    return;
  }
  const list = (map[change.key] ?? []) as readonly unknown[];
  map[change.key] = change.at === 'first' ? [...change.items, ...list] : [...list, ...change.items];
}

function verify(file: SourceFile, text: string, expected: readonly unknown[]): void {
  const result = readSourceFile(file.file, text);
  const [problem] = result.problems;
  if (problem !== undefined) throw cannot(`the result could not be read (${problem.message})`);
  const objects = result.documents.map((document) => plainObject(result, document));
  const wrong = expected.findIndex((object, index) => !isDeepStrictEqual(object, objects[index]));
  if (wrong !== -1 || objects.length !== expected.length) {
    const document = file.documents[wrong];
    throw cannot(
      'the result would not hold what was meant, perhaps because an anchor (&) is used in several places; write it out in block style',
      document === undefined ? 1 : file.placeOf(document.range[0]).line,
    );
  }
  if (removeBlocks(text) !== file.text) throw cannot('what is added could not be taken out again');
}

function cannot(why: string, line = 1): InjectRefusal {
  return new InjectRefusal(line, why);
}
