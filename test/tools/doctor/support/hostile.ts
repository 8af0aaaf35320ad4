import fc from 'fast-check';

/** Fields that have words of others in them. */
const FOREIGN = new Set([
  'says',
  'place',
  'text',
  'headline',
  'explanation',
  'advice',
  'file',
  'before',
  'after',
  'who',
  'detail',
  'value',
  'expression',
  'why',
  'product',
  'commands',
  'verify',
  'unknowns',
]);

/** Everything that comes from outside replaced by one text: names and words of logs, files, workers, and keys of maps. */
export function speakingOnly<T>(value: T, text: string): T {
  return replaced(value, text, '') as T;
}

function replaced(value: unknown, text: string, field: string): unknown {
  if (typeof value === 'string') return FOREIGN.has(field) ? text : value;
  if (Array.isArray(value)) return value.map((item) => replaced(item, text, field));
  if (value instanceof Map)
    return new Map(
      [...value].map(([key, item], index) => [
        // Workers are named by others, signals and programs are not.
        /^\d+$/.test(String(key)) ? `${text}${index}` : key,
        replaced(item, text, ''),
      ]),
    );
  if (value === null || typeof value !== 'object') return value;
  const isNamedByOthers = 'kind' in value || 'bytes' in value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === 'name' && isNamedByOthers ? text : replaced(item, text, key),
    ]),
  );
}

/** What breaks out of HTML, Markdown, tables, patches and terminals, and whatever else there is. */
export const hostileText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc.constantFrom(
        '</style><script>alert(1)</script>',
        '"><img src=http://evil/x onerror=alert(1)>',
        "' onload='alert(1)",
        '</title></svg>',
        '<!--',
        ']]>',
        '&lt;b&gt;',
        '![a](http://evil/a.png)',
        '[a](javascript:alert(1))',
        '<http://evil>',
        'https://evil.example/a',
        '`',
        '````',
        '|',
        '\\',
        '\n',
        '\n# heading\n',
        '\n--- a/other\n+++ b/other\n@@ -1 +1 @@\n-a\n+b\n',
        '\n- ',
        '1. ',
        '\u001b[2J\u001b]0;title\u0007',
        '\u202e',
        '../',
        '..\\',
        '/etc/passwd',
        '__proto__',
        '\u0000',
      ),
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join(''));
