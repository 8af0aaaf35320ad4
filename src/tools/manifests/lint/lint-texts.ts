import type { SourceFile } from '../source-file.js';
import { readSourceParts } from '../source-parts.js';
import { isHelmfile } from './changes/helmfile-layers.js';
import type { GivenFile } from './config/tree-files.js';
import type { Finding } from './findings/finding.js';
import type { NamedText } from './fixes/apply-fixes.js';
import { type Inspection, inspectFiles } from './lint-files.js';
import { startsEngine } from './readers/loose-commands.js';
import { isWorthReading, textKindOf, UNREAD_EXTENSIONS, withoutSchemas } from './text/text-kinds.js';

export interface LintTextsOptions {
  /** Looks at Markdown as well; else it is left out. Its module is handed in, for not every run pays for a Markdown parser. */
  readonly lintMarkdown?: ((file: string, text: string) => readonly Finding[]) | undefined;
  /** Those of the texts that programs read, by their file names: with the paths at which they do, or none for every path that ends in the name. They are no manifests. */
  readonly given?: ReadonlyMap<string, readonly string[]>;
  /** Files that were named one by one: each is parsed, and a warning where that fails, whatever it is. Default: none. */
  readonly named?: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

/** Everything that is found in a set of texts, in the order of files and lines, what was looked at for it, and which files of other kinds start an engine. */
export function inspectTexts(
  texts: readonly NamedText[],
  options: LintTextsOptions = {},
): Inspection & { readonly unread: readonly string[] } {
  const { lintMarkdown = () => [], given = new Map<string, readonly string[]>(), named = NONE } = options;
  const kindOf = (one: NamedText): string =>
    given.has(one.file)
      ? 'given'
      : !named.has(one.file) && UNREAD_EXTENSIONS.some((extension) => one.file.endsWith(extension))
        ? 'unread'
        : textKindOf(one);
  const kinds = new Map(texts.map((one) => [one, kindOf(one)] as const));
  const of = (kind: string): readonly NamedText[] => texts.filter((one) => kinds.get(one) === kind);
  const givenFiles = of('given').map((one): GivenFile => ({ ...one, paths: given.get(one.file) ?? [] }));
  const order = new Map(texts.map(({ file }, index) => [file, index]));
  const inspection = inspectFiles(readOneByOne(of('manifest'), named), of('shell'), {
    named,
    given: givenFiles,
    beside: of('manifest'),
    helmfiles: of('unread').filter(({ file }) => isHelmfile(file)),
  });
  const findings = [
    ...inspection.findings,
    ...of('markdown').flatMap(({ file, text }) => lintMarkdown(file, text)),
  ].sort(
    (a, b) => (order.get(a.file) ?? 0) - (order.get(b.file) ?? 0) || a.line - b.line || a.column - b.column,
  );
  const unread = of('unread').filter(({ text }) => startsEngine(text));
  return { ...inspection, findings, unread: unread.map(({ file }) => file) };
}

/** The findings alone. @internal */
export function lintTexts(texts: readonly NamedText[], options: LintTextsOptions = {}): readonly Finding[] {
  return inspectTexts(texts, options).findings;
}

/** Manifests, each parsed when it is asked for, a large one in parts. Those that can say nothing here are not parsed at all, unless they were named. */
function* readOneByOne(texts: readonly NamedText[], named: ReadonlySet<string>): Iterable<SourceFile> {
  for (const { file, text } of texts)
    if (named.has(file) || isWorthReading(file, text))
      // What was read of a text without its schemas, with all of the text.
      for (const part of readSourceParts(file, withoutSchemas(text))) yield { ...part, text };
    else yield { file, text, documents: [], problems: [], placeOf: () => ({ line: 1, column: 1 }) };
}
