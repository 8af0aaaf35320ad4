import { readSourceFile, type SourceFile } from '../source-file.js';
import type { NotChecked } from './facts/not-checked.js';
import type { Finding } from './findings/finding.js';
import type { NamedText } from './fixes/apply-fixes.js';
import { countPrograms, lintFiles } from './lint-files.js';

export interface LintTextsOptions {
  /** Looks at Markdown as well; else it is left out. Its module is handed in, for not every run pays for a Markdown parser. */
  readonly lintMarkdown?: ((file: string, text: string) => readonly Finding[]) | undefined;
  /** Is called once, with the programs that were seen and compared with nothing. */
  readonly onNotChecked?: ((programs: readonly NotChecked[]) => void) | undefined;
}

/** Everything that is found in a set of texts, which are one view of a deployment, in the order of files and lines. */
export function lintTexts(texts: readonly NamedText[], options: LintTextsOptions = {}): readonly Finding[] {
  const { lintMarkdown = () => [], onNotChecked } = options;
  const { manifests, scripts, pages } = sort(texts);
  const order = new Map(texts.map(({ file }, index) => [file, index]));
  return [
    ...lintFiles(manifests, scripts, onNotChecked),
    ...pages.flatMap(({ file, text }) => lintMarkdown(file, text)),
  ].sort(
    (a, b) => (order.get(a.file) ?? 0) - (order.get(b.file) ?? 0) || a.line - b.line || a.column - b.column,
  );
}

/** Whether there are manifests or scripts, and nothing that they start is known here. */
export function startsNothingKnown(texts: readonly NamedText[]): boolean {
  const { manifests, scripts } = sort(texts);
  return manifests.length + scripts.length > 0 && countPrograms(manifests, scripts) === 0;
}

function sort(texts: readonly NamedText[]): {
  readonly manifests: readonly SourceFile[];
  readonly scripts: readonly NamedText[];
  readonly pages: readonly NamedText[];
} {
  const kinds = new Map(texts.map((named) => [named, textKindOf(named)]));
  const of = (kind: TextKind): readonly NamedText[] => texts.filter((named) => kinds.get(named) === kind);
  return {
    manifests: of('manifest').map(({ file, text }) => readSourceFile(file, text)),
    scripts: of('shell'),
    pages: of('markdown'),
  };
}

/** What a text is read as. */
export type TextKind = 'manifest' | 'shell' | 'markdown';

/** What a text is: by the name, and for standard input and names that say nothing by what is in it. */
export function textKindOf({ file, text }: NamedText): TextKind {
  if (/\.(?:md|markdown|mdx)$/i.test(file)) return 'markdown';
  if (/\.(?:sh|bash)$/i.test(file) || /^#!.*\b(?:ba|da|z)?sh\b/.test(text)) return 'shell';
  if (/\.(?:ya?ml|json)$/i.test(file)) return 'manifest';
  // Commands are one plain text to YAML, and no object.
  const { documents, problems } = readSourceFile(file, text);
  return documents.length === 0 && problems.length === 0 ? 'shell' : 'manifest';
}
