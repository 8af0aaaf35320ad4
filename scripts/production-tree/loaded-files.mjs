import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseSync, Visitor } from 'oxc-parser';

/**
 * Every file that Node may load from these on: by `import`, `export … from`,
 * `import()`, `require()` and `createRequire(…)()`, wherever they stand, when what they name is written
 * out. Node's own resolution finds the files, so that conditions of `exports`
 * mean here what they mean in production. A name that is computed is not seen,
 * and one that cannot be found is an optional dependency that is not installed.
 */
export function loadedFiles(entries) {
  const loaded = new Set(entries);
  // A set gives what is added while it is gone through.
  for (const file of loaded) {
    if (!['.js', '.mjs', '.cjs'].includes(extname(file))) continue;
    for (const found of namedBy(file)) loaded.add(found);
  }
  return loaded;
}

function namedBy(file) {
  const { imported, required } = specifiersOf(file);
  const require = createRequire(file);
  const parent = pathToFileURL(file).href;
  return [
    ...imported.map((specifier) => found(() => import.meta.resolve(specifier, parent))),
    ...required.map((specifier) => found(() => pathToFileURL(require.resolve(specifier)).href)),
  ].flatMap((url) => (url?.startsWith('file:') ? [fileURLToPath(url)] : []));
}

/** The URL, or undefined when there is none. A built-in has no file and becomes something else than `file:`. */
function found(resolve) {
  try {
    const url = resolve();
    readFileSync(new URL(url));
    return url;
  } catch {
    return undefined;
  }
}

function specifiersOf(file) {
  const parsed = parseSync(file, readFileSync(file, 'utf8'));
  const imported = [];
  const required = [];
  const add = (list, node) => {
    if (typeof node?.value === 'string') list.push(node.value);
  };
  new Visitor({
    ImportDeclaration: (node) => add(imported, node.source),
    ExportNamedDeclaration: (node) => add(imported, node.source),
    ExportAllDeclaration: (node) => add(imported, node.source),
    ImportExpression: (node) => add(imported, node.source),
    CallExpression: ({ callee, arguments: [first] }) => {
      const isRequire = callee.name === 'require' || callee.callee?.name === 'createRequire';
      const isResolve = callee.type === 'MemberExpression' && callee.object.name === 'require';
      if (isRequire || isResolve) add(required, first);
    },
  }).visit(parsed.program);
  return { imported, required };
}
