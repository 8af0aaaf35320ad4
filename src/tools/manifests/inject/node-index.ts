import { type Document, isCollection, isMap, isNode, isPair, isScalar, type Node } from 'yaml';

interface Entry {
  readonly parent: Node | undefined;
  /** In the parent: a key, or a place in a list. */
  readonly key: string | number;
}

/** Deepest that a document is followed. A cluster's objects have about twenty levels. */
const MAX_DEPTH = 200;

/** Where each collection of a document stands in it. */
export class NodeIndex {
  readonly #entries = new Map<Node, Entry>();

  constructor(document: Document.Parsed) {
    this.#add(document.contents, { parent: undefined, key: '' }, 0);
  }

  /** The keys from the document down to a node; undefined when it is not in it. */
  pathTo(node: Node): readonly (string | number)[] | undefined {
    const path: (string | number)[] = [];
    for (let entry = this.#entries.get(node); entry !== undefined; ) {
      if (entry.parent === undefined) return path.reverse();
      path.push(entry.key);
      entry = this.#entries.get(entry.parent);
    }
    return undefined;
  }

  /** The node and what is around it, from the inside out. */
  *around(node: Node): Generator<Node> {
    for (let at: Node | undefined = node; at !== undefined; at = this.#entries.get(at)?.parent) yield at;
  }

  #add(node: unknown, entry: Entry, depth: number): void {
    if (!isNode(node) || !isCollection(node) || depth > MAX_DEPTH) return;
    this.#entries.set(node, entry);
    for (const [index, item] of node.items.entries()) {
      if (isMap(node) && isPair(item) && isScalar(item.key))
        this.#add(item.value, { parent: node, key: String(item.key.value) }, depth + 1);
      else this.#add(item, { parent: node, key: index }, depth + 1);
    }
  }
}
