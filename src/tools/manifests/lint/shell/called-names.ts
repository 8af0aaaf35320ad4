import { forEachChild, type SyntaxNode } from 'unbash';

/** The names that commands have: a function with such a name runs where it is called. */
export function calledIn(node: SyntaxNode, names: Set<string> = new Set<string>()): ReadonlySet<string> {
  if (node.type === 'Word') return names;
  if (node.type === 'Command' && node.name !== undefined) names.add(node.name.value);
  forEachChild(node, (child) => {
    calledIn(child, names);
  });
  return names;
}
