// A plugin of the build: enumerations of generated modules stand apart from their messages.
//
// Rules, names and settings of all commands speak in enumerations of the wire. A generated module has them beside the code of
// its messages and its gRPC client, so that each of these commands would load gRPC and a reader of protobuf.
import { readFileSync } from 'node:fs';
import { parseSync } from 'oxc-parser';

const GENERATED = /[\\/]src[\\/]gen[\\/]kvaccord[\\/].*\.ts$/;
const ENUMERATIONS = '?enumerations';

/** Makes two modules of each generated one; who imports it notices nothing. */
export function splitEnumerations() {
  return {
    name: 'split-enumerations',
    resolveId: (id) => (id.endsWith(ENUMERATIONS) ? id : null),
    load(id) {
      const isEnumerations = id.endsWith(ENUMERATIONS);
      const file = isEnumerations ? id.slice(0, -ENUMERATIONS.length) : id;
      if (!GENERATED.test(file)) return null;
      const text = readFileSync(file, 'utf8');
      const statements = parseSync(file, text).program.body;
      const values = statements.filter(isEnumeration);
      const names = values.map(nameOf);
      // Taken out in place: lines and columns stay what they are in the sources.
      if (isEnumerations)
        return {
          code: without(
            text,
            statements.filter((statement) => !values.includes(statement)),
          ),
          moduleType: 'ts',
          moduleSideEffects: false,
        };
      const rest = without(
        text,
        statements.filter((statement) => names.includes(nameOf(statement))),
      );
      const again = `{ ${names.join(', ')} } from ${JSON.stringify(file + ENUMERATIONS)};`;
      const code = names.length === 0 ? text : `${rest}\nimport ${again}\nexport ${again}\n`;
      return { code, moduleType: 'ts', moduleSideEffects: false };
    },
  };
}

/** `export const Name = { VALUE: 0, … } as const;`. */
function isEnumeration({ type, declaration }) {
  if (type !== 'ExportNamedDeclaration' || declaration?.type !== 'VariableDeclaration') return false;
  const [{ init }] = declaration.declarations;
  return (
    init?.type === 'TSAsExpression' &&
    init.expression.type === 'ObjectExpression' &&
    init.expression.properties.every(({ value }) => typeof value?.value === 'number')
  );
}

/** Of an exported value, a type or a namespace; undefined for any other statement. */
function nameOf({ type, declaration }) {
  if (type !== 'ExportNamedDeclaration') return undefined;
  return (declaration?.id ?? declaration?.declarations?.[0]?.id)?.name;
}

function without(text, statements) {
  let rest = text;
  for (const { start, end } of statements)
    rest = rest.slice(0, start) + rest.slice(start, end).replace(/[^\n]/g, ' ') + rest.slice(end);
  return rest;
}
