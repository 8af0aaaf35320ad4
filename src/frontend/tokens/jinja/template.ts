import { inexact, refuse } from './errors.js';
import { isFilter } from './filters.js';
import { makeGlobals } from './globals.js';
import type { Statement } from './nodes.js';
import { parseTemplate } from './parse-template.js';
import { Renderer } from './renderer.js';
import { isTest } from './tests.js';
import { fromJson, type Value } from './values.js';

/**
 * A chat template of Jinja2 3.1, rendered as Python does in the environment of
 * transformers (`trim_blocks`, `lstrip_blocks`, loop controls, the immutable
 * sandbox, `generation`): what comes out is the same text, or an error.
 */
export class ChatTemplate {
  readonly statements: readonly Statement[];
  readonly #globals: ReadonlyMap<string, Value>;

  /** Throws a `TemplateError` where Jinja2 refuses it, an `InexactError` for what is not rendered here. */
  constructor(source: string, nowMs: () => number) {
    this.statements = parseTemplate(source);
    findUnknown(this.statements, false);
    this.#globals = makeGlobals(nowMs);
  }

  /**
   * `variables` is JSON. Throws a `TemplateError` where Python raises, and an
   * `InexactError` where it is not certain that the text is the same.
   */
  render(variables: Readonly<Record<string, unknown>>): string {
    const context = new Map(this.#globals);
    for (const [name, value] of Object.entries(variables)) context.set(name, fromJson(value));
    try {
      return new Renderer(context).render(this.statements);
    } catch (error) {
      // Python's stack has another depth.
      if (error instanceof RangeError) return inexact('a nesting of that depth');
      throw error;
    }
  }
}

/** Where a branch decides, Jinja2 looks for filters and tests only when it is taken; elsewhere it refuses the template. */
function findUnknown(node: unknown, isInBranch: boolean): void {
  if (Array.isArray(node)) {
    for (const one of node) findUnknown(one, isInBranch);
    return;
  }
  if (typeof node !== 'object' || node === null || node instanceof Map) return;
  const { type, name } = node as { readonly type?: unknown; readonly name?: unknown };
  if (!isInBranch && type === 'Filter' && !isFilter(String(name))) refuse(`No filter named ${String(name)}`);
  if (!isInBranch && type === 'Test' && !isTest(String(name))) refuse(`No test named ${String(name)}`);
  const isBranch = type === 'If' || type === 'Conditional';
  const isScope = type === 'For' || type === 'Macro' || type === 'CallBlock' || type === 'With';
  for (const child of Object.values(node)) findUnknown(child, isScope ? false : isInBranch || isBranch);
}
