import { type Document, isAlias, isMap, isNode, isSeq, Pair, Scalar, visit, YAMLMap, YAMLSeq } from 'yaml';
import { readYamlDocuments } from '../../source-file.js';
import { moveNodes } from '../../source-parts.js';
import { keyOf, YamlAccess } from '../../yaml-access.js';
import type { InnerText } from '../text/scalar-text.js';
import { withoutSchemas } from '../text/text-kinds.js';
import type { JoinedSource } from './joined-source.js';

/** Nodes that one document may have once its aliases are written out. */
const MAX_NODES = 100_000;

/**
 * Reads the YAML of a text, adds it to an overlay, and gives each node its place there. Aliases and merge keys are
 * written out, so that nodes can be moved to other documents. Undefined for what cannot be read as a whole.
 */
export function parsePart(text: InnerText, into: JoinedSource): readonly Document.Parsed[] | undefined {
  const readable = withoutSchemas(text.value);
  // Schemas are the largest part of many repositories, and each overlay would keep them.
  if (!/\S/.test(readable)) return [];
  const { documents, faults } = readYamlDocuments(readable);
  if (faults.length > 0) return undefined;
  const start = into.add(text);
  if (start === undefined) return undefined;
  for (const document of documents) {
    moveNodes(document, start);
    let hasAliases = false;
    visit(document, {
      Alias() {
        hasAliases = true;
        return visit.BREAK;
      },
    });
    if (hasAliases && !writeOutAliases(document)) return undefined;
  }
  return documents;
}

/** Whether it could be done within the bound. */
function writeOutAliases(document: Document.Parsed): boolean {
  const access = new YamlAccess(document);
  let left = MAX_NODES;
  const copy = (node: unknown): unknown => {
    left -= 1;
    if (left < 0) return null;
    const actual = isAlias(node) ? access.resolve(node) : node;
    if (isMap(actual)) {
      const map = new YAMLMap();
      map.range = actual.range ?? null;
      if (actual.flow) map.flow = true;
      const own = actual.items.filter((pair) => keyOf(pair) !== '<<');
      const names = new Set(own.map((pair) => keyOf(pair)));
      map.items = own.map(({ key, value }) => new Pair(key, copy(value)));
      for (const [name, value] of access.entries(actual)) {
        if (names.has(name)) continue;
        const key = new Scalar(name);
        key.range = value.range ?? null;
        map.items.push(new Pair(key, copy(value)));
      }
      return map;
    }
    if (isSeq(actual)) {
      const list = new YAMLSeq();
      list.range = actual.range ?? null;
      if (actual.flow) list.flow = true;
      list.items = actual.items.map((item) => copy(item));
      return list;
    }
    return isNode(actual) ? actual.clone() : actual;
  };
  document.contents = copy(document.contents) as Document.Parsed['contents'];
  return left >= 0;
}
