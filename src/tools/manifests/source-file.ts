import { type Document, isMap, isScalar, type Node, type Pair, parseAllDocuments, visit } from 'yaml';
import { findYamlExcess, YAML_EXCESS } from '../../edge/platform/data/yaml-bounds.js';
import { FEW_ALIASES, findAliasExcess } from './aliases.js';
import { type TextFault, withJoinedQuotes } from './quoted-lines.js';

/** Kinds that kubectl reads as a kustomization. */
const KUSTOMIZATIONS: readonly string[] = ['Kustomization', 'Component'];

/** How a problem ends that is a key which one mapping has twice. */
export const IS_TWICE = 'is there twice';

/** Largest manifest that is read: a cluster's object is at most 1.5 MiB in etcd, and files hold a few. */
export const MAX_FILE_BYTES: number = 16 * 1024 * 1024;

/**
 * The parser takes up to 300 bytes of memory for a piece of a document, so that one of this size passes in a gigabyte; a workload has some
 * 300 pieces, and custom resources with schemas in them are some thirty deep. Manifests that people write have some dozen aliases.
 */
const YAML_BOUNDS = { maxLexemes: 2_500_000, maxDepth: 128, maxAliases: 20_000 };

/** What is done about a text that is beyond a bound. */
const ADVICE = {
  too_much: ' in one document: write it as several',
  too_many_aliases: `: ${YAML_BOUNDS.maxAliases} are the most; none of its documents was read`,
  too_deep: '',
} as const;

/** Documents in one file. */
const MAX_DOCUMENTS = 10_000;

/** The key of a merge with its tag, as Go's tools and yq write it. The parser takes it for no text, which a key has to be. */
const TAGGED_MERGE = /^(?:!!merge|!<tag:yaml\.org,2002:merge>)[ \t]+<<[ \t]*:/;
const TAGGED_MERGE_CHARS = 100;

/** A file of YAML documents with its text, in which every place and every change is located. */
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
  const { documents: all, faults } = readYamlDocuments(text);
  const problems = faults.map(({ at, message }) => ({ ...placeOf(at), message }));
  const documents = all.filter((document) => isMap(document.contents));
  return { file, text, documents, problems, placeOf };
}

/** The documents of a text that can be read, whatever they hold, and what is wrong with the others, at which offset. */
export function readYamlDocuments(text: string): {
  readonly documents: readonly Document.Parsed[];
  readonly faults: readonly { readonly at: number; readonly message: string }[];
} {
  const excess = findYamlExcess(text, YAML_BOUNDS);
  if (excess !== undefined)
    return {
      documents: [],
      faults: [
        {
          at: 0,
          message: `It ${YAML_EXCESS[excess]} to be read${ADVICE[excess]}`,
        },
      ],
    };
  const first = parsedOf(text);
  const joined = withJoinedQuotes(text, (one) => firstError(one === text ? first : parsedOf(one)));
  const all = joined === undefined ? first : parsedOf(joined);
  const read = all.slice(0, MAX_DOCUMENTS).map((document) => ({ document, fault: faultOf(document) }));
  const rest = all[MAX_DOCUMENTS];
  const tooMany = `There are more than ${MAX_DOCUMENTS} documents; those from here on are not read`;
  return {
    documents: read.filter(({ fault }) => fault === undefined).map(({ document }) => document),
    faults: [
      ...read.flatMap(({ fault }) => fault ?? []),
      ...(rest === undefined ? [] : [{ at: rest.range[0], message: tooMany }]),
    ],
  };
}

function parsedOf(text: string): readonly Document.Parsed[] {
  const parsed = parseAllDocuments(text, {
    prettyErrors: false,
    // Its own look for duplicates compares every key with every other.
    uniqueKeys: false,
    stringKeys: true,
  });
  const documents = Array.isArray(parsed) ? parsed : [];
  for (const document of documents)
    if (document.errors.length > 0)
      document.errors = document.errors.filter(
        ({ code, pos: [at] }) =>
          code !== 'NON_STRING_KEY' || !TAGGED_MERGE.test(text.slice(at, at + TAGGED_MERGE_CHARS)),
      );
  return documents;
}

/** What the parser says of a text, and where; undefined for one that is beyond a bound. */
export function yamlErrorsOf(
  text: string,
): readonly { readonly code: string; readonly at: number }[] | undefined {
  if (findYamlExcess(text, YAML_BOUNDS) !== undefined) return undefined;
  return parsedOf(text).flatMap(({ errors }) => errors.map(({ code, pos: [at] }) => ({ code, at })));
}

function firstError(documents: readonly Document.Parsed[]): TextFault | undefined {
  const error = documents.find(({ errors }) => errors.length > 0)?.errors[0];
  return error === undefined ? undefined : { at: error.pos[0], message: error.message };
}

/** Finds line and column, from 1, of offsets in a text. Of most texts nobody asks. */
export function placesIn(text: string): SourceFile['placeOf'] {
  let known: readonly number[] | undefined;
  return (offset) => {
    known ??= lineStarts(text);
    const starts = known;
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

function lineStarts(text: string): readonly number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

/** Why a document cannot be read, if it cannot. */
function faultOf(document: Document.Parsed): TextFault | undefined {
  const [error] = document.errors;
  if (error !== undefined) {
    // The parser's message about its own recursion says nothing of the text.
    const isTooDeep = /call stack/.test(error.message);
    return { at: error.pos[0], message: isTooDeep ? 'It is nested too deeply to be read' : error.message };
  }
  let aliases = 0;
  let fault: TextFault | undefined;
  const isLenient = isKustomization(document);
  visit(document, {
    Alias() {
      aliases += 1;
    },
    Map(_key, map) {
      if (isLenient) map.items = lastOfEach(map.items);
      const { items } = map;
      const keys = new Set<unknown>();
      for (const { key } of items) {
        const name = isScalar(key) ? key.value : undefined;
        if (isScalar(key) && name !== '<<' && keys.has(name)) {
          fault = {
            at: startOf(key),
            message: `The key ${JSON.stringify(String(name).slice(0, 100))} ${IS_TWICE}`,
          };
          return visit.BREAK;
        }
        keys.add(name);
      }
      return undefined;
    },
  });
  // What they stand for is looked at only where there are many.
  const alias = fault !== undefined || aliases <= FEW_ALIASES ? undefined : findAliasExcess(document);
  return alias === undefined
    ? fault
    : { at: startOf(alias), message: 'The aliases from here on stand for more than kubectl reads' };
}

/** Of a key that a kustomization has twice kubectl takes the last (seen with 1.32); it refuses resources that have one. */
function isKustomization({ contents }: Document.Parsed): boolean {
  return (
    isMap(contents) &&
    contents.items.some(
      ({ key, value }) =>
        isScalar(key) &&
        key.value === 'kind' &&
        isScalar(value) &&
        KUSTOMIZATIONS.includes(String(value.value)),
    )
  );
}

function lastOfEach(items: readonly Pair[]): Pair[] {
  const last = new Map(items.map((item) => [nameOf(item), item]));
  return items.filter((item) => last.get(nameOf(item)) === item);
}

/** What no other key of a mapping may be; of merge keys several may stand there. */
function nameOf({ key }: Pair): unknown {
  return isScalar(key) && key.value !== '<<' ? key.value : key;
}

function startOf({ range }: Pick<Node, 'range'>): number {
  return range?.[0] ?? 0;
}
