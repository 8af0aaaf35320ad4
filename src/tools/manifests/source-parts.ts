import { type Document, isMap, visit } from 'yaml';
import { placesIn, readSourceFile, readYamlDocuments, type SourceFile } from './source-file.js';

/** Characters from which on a text is read in parts: the parser takes some eighty bytes of memory for each. */
const LARGE = 1024 * 1024;

/** Characters of one part. */
const PART_LENGTH = 256 * 1024;

/** Documents of one text: a set has as many pod templates at most. */
const MAX_DOCUMENTS = 100_000;

/** Problems of one text that are reported. */
const MAX_PROBLEMS = 100;

/** A part of a text as a document that can be read: characters in front of it and behind it that are not of the text. */
interface Part {
  readonly start: number;
  readonly end: number;
  readonly before: string;
}

/**
 * Reads a file, a large one in parts of whole documents, and of whole items of a `List`: what an iterable gives is free again
 * before it gives the next. Each part says of the file as a whole which text it has, and where places are.
 */
export function* readSourceParts(file: string, text: string): Iterable<SourceFile> {
  if (text.length < LARGE || /^%/m.test(text)) {
    yield readSourceFile(file, text);
    return;
  }
  const placeOf = placesIn(text);
  let left = MAX_PROBLEMS;
  let count = 0;
  for (const part of partsOf(text)) {
    if (count > MAX_DOCUMENTS) {
      const message = `There are more than ${MAX_DOCUMENTS} documents; those from here on are not read`;
      yield { file, text, documents: [], problems: [{ ...placeOf(part.start), message }], placeOf };
      return;
    }
    const { documents, faults } = readPart(text, part);
    count += documents.length;
    const problems = faults.slice(0, left).map(({ at, message }) => ({ ...placeOf(at), message }));
    left -= problems.length;
    yield { file, text, documents, problems, placeOf };
  }
}

function readPart(text: string, { start, end, before }: Part): ReturnType<typeof readYamlDocuments> {
  const { documents, faults } = readYamlDocuments(before + text.slice(start, end));
  const by = start - before.length;
  for (const document of documents) moveNodes(document, by);
  return {
    documents: documents.filter(({ contents }) => isMap(contents)),
    faults: faults.map(({ at, message }) => ({ at: Math.max(0, at + by), message })),
  };
}

/** Gives each node of a document its place in a text that has the document further on. */
export function moveNodes(document: Document.Parsed, by: number): void {
  visit(document, {
    Node(_key, { range }) {
      if (range) for (const at of [0, 1, 2] as const) range[at] = Math.max(0, range[at] + by);
    },
  });
}

/** Several documents together, or some items of one. */
function* partsOf(text: string): Iterable<Part> {
  let start = 0;
  let end = 0;
  for (const next of boundariesIn(text, /^---(?=[ \t\r\n])/gm)) {
    const isLarge = next - end > LARGE;
    if (end > start && (isLarge || next - start > PART_LENGTH)) {
      yield { start, end, before: '' };
      start = end;
    }
    if (isLarge) {
      yield* itemsOf(text, start, next);
      start = next;
    }
    end = next;
  }
  if (end > start) yield { start, end, before: '' };
}

/** Where the documents or the items of a text end: where the next one begins, and at its own end. */
function* boundariesIn(text: string, begin: RegExp): Iterable<number> {
  for (const { index } of text.matchAll(begin)) if (index > 0) yield index;
  yield text.length;
}

/** A list of objects as kubectl writes it, at whose items a document can be divided; no anchor may reach from one into another. */
const ITEMS = /^items:[ \t]*\r?\n(?=( *)- )/m;
const LIST = /^kind:[ \t]*["']?\w*List\b/m;
const ALIAS = /(?::|-)[ \t]+\*\w/;

/** The items of a large list in parts, or all of the document. */
function* itemsOf(text: string, start: number, end: number): Iterable<Part> {
  const document = text.slice(start, end);
  const list = ITEMS.exec(document);
  if (list === null || !LIST.test(document) || ALIAS.test(document)) {
    yield { start, end, before: '' };
    return;
  }
  const indent = list[1] ?? '';
  const first = list.index + list[0].length;
  const rest = new RegExp(`^${indent === '' ? '[^\\s#-]' : ` {0,${indent.length - 1}}[^\\s#]`}`, 'gm');
  rest.lastIndex = first;
  const last = rest.exec(document)?.index ?? document.length;
  const items = document.slice(first, last);
  let from = 0;
  let to = 0;
  const part = (): Part => ({
    start: start + first + from,
    end: start + first + to,
    before: 'kind: List\nitems:\n',
  });
  for (const next of boundariesIn(items, new RegExp(`^${indent}- `, 'gm'))) {
    if (to > from && next - from > PART_LENGTH) {
      yield part();
      from = to;
    }
    to = next;
  }
  yield part();
}
