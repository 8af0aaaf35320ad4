import type { ContentFormat } from './chat-messages.js';
import type { Expression, Statement, Target } from './jinja/nodes.js';

type Node = Expression | Statement;
type For = Statement & { readonly type: 'For' };
type Macro = Statement & { readonly type: 'Macro' };

/**
 * Finds out whether a template goes through a message's content part by part
 * (`openai`) or takes it as one text (`string`), by the rules of vLLM 0.33
 * (`vllm/renderers/hf.py`, `_iter_nodes_assign_content_item`), for engines
 * prepare the messages accordingly.
 */
export function contentFormatOf(template: readonly Statement[]): ContentFormat {
  const nodes = [...nodesOf(template)];
  const loops = nodes.filter((node): node is For => node.type === 'For');
  const messages = aliasesOf(nodes, 'messages');
  const messageNames = new Set<string>();
  for (const { target, iterable } of loops) {
    if (messages.some((name) => reaches(iterable, name))) {
      if (target.type !== 'Name') return 'string';
      messageNames.add(target.name);
    }
  }
  const isContent = (node: Expression): boolean =>
    [...messageNames].some((name) => reaches(node, name, 'content'));
  const inMacros = new Map<Node, ReadonlySet<string>>();
  for (const macro of nodes.filter((node): node is Macro => node.type === 'Macro')) {
    const params = contentParams(macro, nodes, isContent);
    for (const loop of nodesOf(macro.body)) if (loop.type === 'For') inMacros.set(loop, params);
  }
  for (const loop of loops) {
    const name = nameOf(loop.iterable);
    const params = inMacros.get(loop);
    const isOverContent =
      isContent(loop.iterable) ||
      (name !== undefined && (params === undefined ? name === 'content' : params.has(name)));
    if (isOverContent) return loop.target.type === 'Name' ? 'openai' : 'string';
  }
  return 'string';
}

/** `root` and every name that is set to it, or to an element of it; `ns.rest` for a field of a namespace (since vLLM 0.33). */
function aliasesOf(nodes: readonly Node[], root: string): readonly string[] {
  const names = [root];
  for (let i = 0; i < names.length; i += 1) {
    for (const node of nodes) {
      if (node.type !== 'Set') continue;
      for (const name of assignedNames(node.target, node.value, names[i] as string))
        if (!names.includes(name)) names.push(name);
    }
  }
  return names;
}

/** The parameters of a macro that are given a message's content somewhere. */
function contentParams(
  { name, parameters }: Macro,
  nodes: readonly Node[],
  isContent: (node: Expression) => boolean,
): ReadonlySet<string> {
  const params = parameters.map((parameter) => parameter.name);
  const found = new Set<string>();
  for (const call of nodes) {
    if (call.type !== 'Call' || nameOf(call.node) !== name) continue;
    const given: (readonly [string | undefined, Expression])[] = [
      ...call.args.positional.map((arg, at) => [params[at], arg] as const),
      ...call.args.named,
    ];
    for (const [param, arg] of given)
      if (param !== undefined && params.includes(param) && isContent(arg)) found.add(param);
  }
  return found;
}

/** Whether an expression is the variable, or its field `key`; filtered, tested or cut, it is still the same. */
function reaches(node: Expression | undefined, name: string, key?: string): boolean {
  if (node === undefined) return false;
  switch (node.type) {
    case 'Filter':
    case 'Test':
      return reaches(node.node, name, key);
    case 'Getattr':
      return key === undefined
        ? variableOf(node) === name
        : node.attribute === key && variableOf(node.node) === name;
    case 'Getitem':
      if (node.item.type === 'Slice') return reaches(node.node, name, key);
      return (
        key !== undefined &&
        node.item.type === 'Const' &&
        node.item.value === key &&
        variableOf(node.node) === name
      );
    default:
      return key === undefined && variableOf(node) === name;
  }
}

function nameOf(node: Expression): string | undefined {
  return node.type === 'Name' ? node.name : undefined;
}

/** A name, or a field of one: `ns.rest`. */
function variableOf(node: Expression): string | undefined {
  if (node.type !== 'Getattr') return nameOf(node);
  const base = variableOf(node.node);
  return base === undefined ? undefined : `${base}.${node.attribute}`;
}

/** What `target` calls `source` once `value` is given to it. */
function assignedNames(target: Target, value: Expression, source: string): readonly string[] {
  if (target.type === 'Field') return reaches(value, source) ? [`${target.name}.${target.attribute}`] : [];
  if (target.type !== 'Name') return [];
  if (reaches(value, source)) return [target.name];
  if (value.type !== 'Call' || nameOf(value.node) !== 'namespace') return [];
  return value.args.named
    .filter(([, given]) => reaches(given, source))
    .map(([field]) => `${target.name}.${field}`);
}

/** All nodes of a tree in the order in which they stand. */
function* nodesOf(value: unknown): Generator<Node> {
  if (typeof value !== 'object' || value === null) return;
  if ('type' in value && typeof value.type === 'string') yield value as Node;
  for (const child of Object.values(value)) yield* nodesOf(child);
}
