import { type Alias, type Document, isAlias, isCollection, isPair, type Node, visit } from 'yaml';

/** So many aliases are never too many, whatever they stand for: each is followed a few times at most. */
export const FEW_ALIASES = 100;

/** Pieces of a document, aliases written out, up to which nearly all may come of aliases; and from which on one in ten may. */
const RANGE = { low: 400_000, high: 4_000_000 } as const;
const SMALL = 1_000;

const targets = new WeakMap<Document.Parsed, ReadonlyMap<Alias, Node>>();

/** What each alias of a document stands for: the last node with its anchor that begins before it. Read once: each look of the parser's own goes through all of the document. */
export function aliasTargets(document: Document.Parsed): ReadonlyMap<Alias, Node> {
  const known = targets.get(document);
  if (known !== undefined) return known;
  const found = new Map<Alias, Node>();
  const anchors = new Map<string, Node>();
  visit(document, {
    Node(_key, node) {
      if (isAlias(node)) {
        const target = anchors.get(node.source);
        if (target !== undefined) found.set(node, target);
      } else if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  targets.set(document, found);
  return found;
}

/**
 * The first alias of a document that kubectl refuses for what its aliases stand for, all written out: it does not count them, but what they
 * add to the document (allowedAliasRatio of go-yaml). Undefined for a document that it reads.
 */
export function findAliasExcess(document: Document.Parsed): Alias | undefined {
  const standFor = aliasTargets(document);
  const [first] = standFor.keys();
  if (standFor.size <= FEW_ALIASES || first === undefined || document.contents === null) return undefined;
  const sizes = new Map<unknown, Size | undefined>();
  const sizeOf = (node: unknown): Size => {
    if (isPair(node)) return sum(0, [sizeOf(node.key), sizeOf(node.value)]);
    if (isCollection(node)) {
      if (sizes.has(node)) return sizes.get(node) ?? ENDLESS;
      // Until its size is known: what holds itself has none.
      sizes.set(node, undefined);
      const size = sum(1, node.items.map(sizeOf));
      sizes.set(node, size);
      return size;
    }
    if (!isAlias(node)) return ONE;
    const target = standFor.get(node);
    const { all } = target === undefined ? ONE : sizeOf(target);
    return { all: all + 1, byAliases: all };
  };
  const { all, byAliases } = sizeOf(document.contents);
  return all > SMALL && byAliases > FEW_ALIASES && !(byAliases / all <= allowedRatio(all))
    ? first
    : undefined;
}

/** Pieces with aliases written out, and how many of them come of aliases. */
interface Size {
  readonly all: number;
  readonly byAliases: number;
}

const ONE: Size = { all: 1, byAliases: 0 };
const ENDLESS: Size = { all: Number.POSITIVE_INFINITY, byAliases: Number.POSITIVE_INFINITY };

function sum(own: number, sizes: readonly Size[]): Size {
  let all = own;
  let byAliases = 0;
  for (const size of sizes) {
    all += size.all;
    byAliases += size.byAliases;
  }
  return { all, byAliases };
}

function allowedRatio(all: number): number {
  if (all <= RANGE.low) return 0.99;
  if (all >= RANGE.high) return 0.1;
  return 0.99 - 0.89 * ((all - RANGE.low) / (RANGE.high - RANGE.low));
}
