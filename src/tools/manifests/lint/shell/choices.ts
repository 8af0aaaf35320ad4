import type { CaseItem, SyntaxNode } from 'unbash';

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
  /** Those of them of which one runs in any case, as there is an `else`; undefined where it may be none. */
  readonly outcomes: Choice['arms'] | undefined;
}

/** The parts of `if`, `case`, `a || b` and `[ x ] && b`; undefined for what runs as it stands. */
export function choiceOf(node: SyntaxNode): Choice | undefined {
  if (node.type === 'If') {
    const last = node.else === undefined ? [] : [[node.else]];
    const arms = [[node.clause], [node.then], ...node.elif.map((one) => [one]), ...last];
    return { before: [], arms, outcomes: node.else === undefined ? undefined : arms.slice(1) };
  }
  if (node.type === 'Case') {
    const arms = node.items.map((one) => [one]);
    return { before: [], arms, outcomes: node.items.some(isAnything) ? arms : undefined };
  }
  if (node.type !== 'AndOr' || !isQuestion(node)) return undefined;
  const [first, ...others] = node.commands;
  const arms: SyntaxNode[][] = [[]];
  others.forEach((one, index) => {
    // The operator with this index stands in front of it.
    if (node.operators[index] === '||') arms.push([]);
    arms.at(-1)?.push(one);
  });
  return {
    before: first === undefined ? [] : [first],
    arms: arms.filter((arm) => arm.length > 0),
    outcomes: undefined,
  };
}

/** `*)`. */
function isAnything({ pattern }: CaseItem): boolean {
  return pattern.some(({ text }) => text === '*');
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
