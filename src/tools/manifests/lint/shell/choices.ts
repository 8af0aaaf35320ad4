import { forEachChild, type SyntaxNode } from 'unbash';

/** Commands that only ask: what follows them behind `&&` may not run. */
const QUESTIONS: readonly string[] = [
  '[',
  'test',
  'grep',
  'command',
  'which',
  'type',
  'nvidia-smi',
  'true',
  'false',
];

/** A statement of which a part runs, and which part is known at run time alone. */
export interface Choice {
  /** What runs in any case, before it is chosen. */
  readonly before: readonly SyntaxNode[];
  /** What is chosen from, each by itself. */
  readonly arms: readonly (readonly SyntaxNode[])[];
}

/** The parts of `if`, `case`, `a || b` and `[ x ] && b`; undefined for what runs as it stands. */
export function choiceOf(node: SyntaxNode): Choice | undefined {
  if (node.type === 'If' || node.type === 'Case') {
    const arms: SyntaxNode[][] = [];
    forEachChild(node, (child) => {
      if (child.type !== 'Word') arms.push([child]);
    });
    return { before: [], arms };
  }
  if (node.type !== 'AndOr' || !isQuestion(node)) return undefined;
  const [first, ...others] = node.commands;
  const arms: SyntaxNode[][] = [[]];
  others.forEach((one, index) => {
    // The operator with this index stands in front of it.
    if (node.operators[index] === '||') arms.push([]);
    arms.at(-1)?.push(one);
  });
  return { before: first === undefined ? [] : [first], arms: arms.filter((arm) => arm.length > 0) };
}

/** Whether a list of commands goes on only under a condition: `a || b`, `[ x ] && b`; `cd x && b` is none. */
function isQuestion(node: Extract<SyntaxNode, { type: 'AndOr' }>): boolean {
  return (
    node.operators.includes('||') ||
    node.commands.some(
      (one) =>
        one.type === 'TestCommand' ||
        one.type === 'ArithmeticCommand' ||
        (one.type === 'Command' && QUESTIONS.includes(one.name?.value ?? '')),
    )
  );
}
