import { type Document, isMap, parseAllDocuments, visit } from 'yaml';

/** Largest manifest that is read: a cluster's object is at most 1.5 MiB in etcd, and files hold a few. */
export const MAX_FILE_BYTES: number = 16 * 1024 * 1024;

/** Documents in one file. */
const MAX_DOCUMENTS = 10_000;

/** Aliases may not blow a small file up. */
const MAX_ALIASES = 100;

/** A file of YAML documents with its text, from which every place and every change is told. */
export interface SourceFile {
  /** As the operator wrote it. */
  readonly file: string;
  readonly text: string;
  /** Those that are mappings and can be read. */
  readonly documents: readonly Document.Parsed[];
  /** Why parts of it cannot be read. */
  readonly problems: readonly { readonly line: number; readonly column: number; readonly message: string }[];
  /** Line and column, from 1, of an offset. */
  placeOf(offset: number): { readonly line: number; readonly column: number };
}

/** Reads the YAML documents of a text. Broken documents become problems, and the others are read all the same. */
export function readSourceFile(file: string, text: string): SourceFile {
  const placeOf = placesIn(text);
  const parsed = parseAllDocuments(text, {
    prettyErrors: false,
    uniqueKeys: true,
    stringKeys: true,
    keepSourceTokens: true,
  });
  const all = (Array.isArray(parsed) ? parsed : []).slice(0, MAX_DOCUMENTS);
  const problems = all.flatMap(({ errors }) =>
    errors.slice(0, 1).map(({ pos, message }) => ({ ...placeOf(pos[0]), message })),
  );
  const documents = all.filter(
    (document) =>
      document.errors.length === 0 && isMap(document.contents) && countAliases(document) <= MAX_ALIASES,
  );
  return { file, text, documents, problems, placeOf };
}

/** Tells line and column, from 1, of offsets in a text. */
export function placesIn(text: string): SourceFile['placeOf'] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
}

/** Aliases that a document uses; each stands for all that its anchor holds. */
function countAliases(document: Document.Parsed): number {
  let count = 0;
  visit(document, {
    Alias: () => {
      count += 1;
    },
  });
  return count;
}
