import { parseSync } from 'oxc-parser';

/** One import, re-export, dynamic import or `import('…')` type of a module. */
export interface ImportUse {
  /** As it is written: `../contract/facts.js`, `node:fs`, `pino`. Undefined when it is computed. */
  readonly specifier: string | undefined;
  /** Imported names; `*` for a namespace, a re-export of all or a dynamic import. */
  readonly names: readonly string[];
  readonly line: number;
}

/** A use of something that only the platform may touch. */
export interface PlatformUse {
  /** Such as `Date.now` or `process`. */
  readonly what: string;
  readonly line: number;
}

/** What the house rules need to know of one module. */
export interface ModuleUses {
  readonly imports: readonly ImportUse[];
  readonly platformUses: readonly PlatformUse[];
}

/** Globals that read a clock, set a timer, draw a random number or reach the process, in any form. */
const PLATFORM_GLOBALS = new Set([
  'setTimeout',
  'setInterval',
  'setImmediate',
  'clearTimeout',
  'clearInterval',
  'clearImmediate',
  'process',
  'performance',
]);

/** Single members of globals that are harmless otherwise. */
const PLATFORM_MEMBERS = new Set([
  'Date.now',
  'Math.random',
  'AbortSignal.timeout',
  'crypto.randomUUID',
  'crypto.getRandomValues',
]);

/** Names under which the global object hides everything above. */
const GLOBAL_OBJECTS = new Set(['globalThis', 'global']);

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [key: string]: unknown;
}

/**
 * Parses one TypeScript source and says what it imports and which platform
 * globals it touches. Throws when the source does not parse.
 *
 * Names are not resolved: a local variable called `process` counts as the
 * global one, so that no shadow can hide it. Types do not count as a touch:
 * `Date` in a signature is allowed, `Date.now()` is not.
 */
export function readModule(file: string, source: string): ModuleUses {
  const parsed = parseSync(file, source, { lang: file.endsWith('x') ? 'tsx' : 'ts' });
  if (parsed.errors.length > 0) throw new Error(`${file}: ${parsed.errors[0]?.message}`);
  const imports: ImportUse[] = [];
  const platformUses: PlatformUse[] = [];
  const lineOf = (offset: number): number => source.slice(0, offset).split('\n').length;

  const addImport = (node: Node, target: unknown, names: readonly string[]): void => {
    const value = isNode(target) && target.type === 'Literal' ? target['value'] : undefined;
    imports.push({
      specifier: typeof value === 'string' ? value : undefined,
      names,
      line: lineOf(node.start),
    });
  };

  const visit = (node: Node, parent: Node | undefined, key: string): void => {
    switch (node.type) {
      case 'ImportDeclaration':
      case 'ExportNamedDeclaration':
        if (node['source'] != null) addImport(node, node['source'], specifierNames(node));
        break;
      case 'ExportAllDeclaration':
      case 'ImportExpression':
      case 'TSImportType':
        addImport(node, node['source'], ['*']);
        break;
      case 'TSExternalModuleReference':
        addImport(node, node['expression'], ['*']);
        break;
      default: {
        const what = platformUse(node, parent, key);
        if (what !== undefined) platformUses.push({ what, line: lineOf(node.start) });
      }
    }
    for (const [childKey, child] of Object.entries(node)) {
      for (const item of Array.isArray(child) ? child : [child]) {
        if (isNode(item)) visit(item, node, childKey);
      }
    }
  };
  visit(parsed.program as unknown as Node, undefined, '');
  return { imports, platformUses };
}

/** The forbidden thing that this node touches, or undefined. */
function platformUse(node: Node, parent: Node | undefined, key: string): string | undefined {
  if (node.type === 'MemberExpression') {
    const path = `${nameOf(node['object'])}.${memberName(node)}`;
    if (PLATFORM_MEMBERS.has(path)) return path;
    const [object = '', member = ''] = path.split('.');
    if (GLOBAL_OBJECTS.has(object) && PLATFORM_GLOBALS.has(member)) return member;
    if (GLOBAL_OBJECTS.has(object) && [...PLATFORM_MEMBERS].some((path) => path.startsWith(`${member}.`))) {
      return path; // `globalThis.Date.now()` and `globalThis.crypto`: take the plain name
    }
    return undefined;
  }
  if (node.type === 'VariableDeclarator' && isNode(node['id']) && node['id'].type === 'ObjectPattern') {
    const object = nameOf(node['init']);
    if (object === undefined) return undefined;
    for (const property of node['id']['properties'] as readonly Node[]) {
      const path = `${object}.${nameOf(property['key'])}`;
      if (PLATFORM_MEMBERS.has(path)) return path;
    }
    return undefined;
  }
  const callee = nameOf(node['callee']);
  if ((node.type === 'NewExpression' || node.type === 'CallExpression') && callee === 'Date') {
    const args = node['arguments'] as readonly unknown[];
    // `new Date(ms)` only converts; without an argument, or called, it reads the clock.
    if (node.type === 'CallExpression' || args.length === 0) return 'Date()';
  }
  if (node.type === 'Identifier' && PLATFORM_GLOBALS.has(node['name'] as string)) {
    return isKey(parent, key) ? undefined : (node['name'] as string);
  }
  return undefined;
}

/** True where an identifier names a member and refers to nothing. */
function isKey(parent: Node | undefined, key: string): boolean {
  if (parent === undefined) return false;
  if (parent.type === 'TSTypeReference' || parent.type === 'TSQualifiedName') return true;
  if (parent.type === 'MemberExpression') return key === 'property' && parent['computed'] !== true;
  // A shorthand `{ process }` refers to the global by its value, not by its key.
  return key === 'key' && parent['computed'] !== true;
}

function memberName(node: Node): string | undefined {
  if (node['computed'] !== true) return nameOf(node['property']);
  const property = node['property'];
  return isNode(property) && typeof property['value'] === 'string' ? property['value'] : undefined;
}

function specifierNames(node: Node): string[] {
  return ((node['specifiers'] ?? []) as readonly Node[]).map((specifier) => {
    if (specifier.type === 'ImportNamespaceSpecifier') return '*';
    if (specifier.type === 'ImportDefaultSpecifier') return 'default';
    return nameOf(specifier['imported'] ?? specifier['local']) ?? '*';
  });
}

function nameOf(node: unknown): string | undefined {
  return isNode(node) && node.type === 'Identifier' ? (node['name'] as string) : undefined;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
}
