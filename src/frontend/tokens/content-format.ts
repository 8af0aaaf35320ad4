import type { ContentFormat } from './chat-messages.js';

/** A node of a template's syntax tree; the library's classes have more than is looked at here. */
interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

/**
 * Tells whether a template goes through a message's content part by part
 * (`openai`) or takes it as one text (`string`), by the rules of vLLM 0.32
 * (`vllm/renderers/hf.py`, `_iter_nodes_assign_content_item`), for engines
 * prepare the messages accordingly.
 */
export function contentFormatOf(template: unknown): ContentFormat {
  const nodes = [...nodesOf(template)];
  const loops = nodes.filter(({ type }) => type === 'For');
  const messages = aliasesOf(nodes, 'messages');
  const messageNames = new Set<string>();
  for (const loop of loops) {
    if (messages.some((name) => reaches(iterableOf(loop), name))) {
      const name = nameOf(loop['loopvar']);
      if (name === undefined) return 'string';
      messageNames.add(name);
    }
  }
  const isContent = (node: unknown): boolean =>
    [...messageNames].some((name) => reaches(node, name, 'content'));
  const inMacros = new Map<Node, ReadonlySet<string>>();
  for (const macro of nodes.filter(({ type }) => type === 'Macro')) {
    const params = contentParams(macro, nodes, isContent);
    for (const loop of nodesOf(macro['body'])) if (loop.type === 'For') inMacros.set(loop, params);
  }
  for (const loop of loops) {
    const iterable = iterableOf(loop);
    const name = nameOf(iterable);
    const params = inMacros.get(loop);
    const isOverContent =
      isContent(iterable) ||
      (name !== undefined && (params === undefined ? name === 'content' : params.has(name)));
    if (isOverContent) return nameOf(loop['loopvar']) === undefined ? 'string' : 'openai';
  }
  return 'string';
}

/** `root` and every name that is set to it, or to an element of it. */
function aliasesOf(nodes: readonly Node[], root: string): readonly string[] {
  const names = [root];
  const sets = nodes.filter(({ type, value }) => type === 'Set' && isNode(value));
  for (let i = 0; i < names.length; i += 1) {
    for (const { assignee, value } of sets) {
      const name = nameOf(assignee);
      if (name !== undefined && !names.includes(name) && reaches(value, names[i] as string)) names.push(name);
    }
  }
  return names;
}

/** The parameters of a macro that are given a message's content somewhere. */
function contentParams(
  macro: Node,
  nodes: readonly Node[],
  isContent: (node: unknown) => boolean,
): ReadonlySet<string> {
  const params = (macro['args'] as readonly Node[]).map((arg) => nameOf(arg) ?? nameOf(arg['key']));
  const found = new Set<string>();
  for (const call of nodes) {
    if (call.type !== 'CallExpression' || nameOf(call['callee']) !== nameOf(macro['name'])) continue;
    (call['args'] as readonly Node[]).forEach((arg, at) => {
      const isNamed = arg.type === 'KeywordArgumentExpression';
      const param = isNamed ? nameOf(arg['key']) : params[at];
      if (param !== undefined && params.includes(param) && isContent(isNamed ? arg['value'] : arg))
        found.add(param);
    });
  }
  return found;
}

/** Whether an expression is the variable, or its field `key`; filtered, tested or cut, it is still the same. */
function reaches(node: unknown, name: string, key?: string): boolean {
  if (!isNode(node)) return false;
  if (node.type === 'FilterExpression' || node.type === 'TestExpression')
    return reaches(node['operand'], name, key);
  if (node.type === 'MemberExpression') {
    const { object, property, computed } = node;
    if (!isNode(property)) return false;
    if (property.type === 'SliceExpression') return reaches(object, name, key);
    const isField = property.type === (computed === true ? 'StringLiteral' : 'Identifier');
    return key !== undefined && isField && property['value'] === key && nameOf(object) === name;
  }
  return key === undefined && nameOf(node) === name;
}

/** What a loop goes through; a condition behind it does not matter. */
function iterableOf({ iterable }: Node): unknown {
  return isNode(iterable) && iterable.type === 'SelectExpression' ? iterable['lhs'] : iterable;
}

function nameOf(node: unknown): string | undefined {
  return isNode(node) && node.type === 'Identifier' ? (node['value'] as string) : undefined;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** All nodes of a tree in the order in which they stand. */
function* nodesOf(value: unknown): Generator<Node> {
  if (typeof value !== 'object' || value === null) return;
  if (value instanceof Map) {
    for (const entry of value) yield* nodesOf(entry);
    return;
  }
  if (isNode(value)) yield value;
  for (const child of Object.values(value)) yield* nodesOf(child);
}
