import { type Command, forEachChild, type SyntaxNode } from 'unbash';

/** A command of a script, wherever it stands in it. */
export interface PlacedCommand {
  readonly command: Command;
  /** The commands in front of it in its pipe. */
  readonly fedBy: readonly Command[];
  /** Where its name begins; of one between backticks with escapes, whose places are those of another text, where they begin. */
  readonly at: number;
}

/** Commands of one pipe that are kept for what they feed. */
const MAX_FEEDING = 20;

/** Substitutions in substitutions: what stands in one is parsed when it is asked for, all of it at each level. */
const MAX_SUBSTITUTIONS = 8;

/** Which commands are meant: `own` are those that the shell of the script reads itself, and `all` also those of substitutions. */
export type Reach = 'own' | 'all';

/** Every command of a script, in its order: also in functions, branches and loops, whether they run or not. */
export function everyCommand(script: SyntaxNode, reach: Reach): readonly PlacedCommand[] {
  const found: PlacedCommand[] = [];
  const visit = (
    node: SyntaxNode,
    depth: number,
    outer: number | undefined,
    fedBy: readonly Command[],
  ): void => {
    // The parts of a word are read when they are asked for: most words have no command in them.
    if (node.type === 'Word' && (reach === 'own' || !/[(`]/.test(node.text))) return;
    if (node.type === 'Command')
      found.push({ command: node, fedBy, at: outer ?? node.name?.pos ?? node.pos });
    const isSubstitution = node.type === 'CommandExpansion' || node.type === 'ProcessSubstitution';
    if (isSubstitution && depth >= MAX_SUBSTITUTIONS) return;
    const within = outer ?? (isSubstitution && node.script?.source !== undefined ? node.pos : undefined);
    const feeding: Command[] = [];
    forEachChild(node, (child) => {
      const before = node.type === 'Pipeline' ? feeding.slice(-MAX_FEEDING) : [];
      visit(child, isSubstitution ? depth + 1 : depth, within, before);
      if (child.type === 'Command') feeding.push(child);
    });
  };
  visit(script, 0, undefined, []);
  return found;
}
