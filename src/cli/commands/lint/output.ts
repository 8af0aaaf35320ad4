import type { NotChecked } from '../../../tools/manifests/lint/facts/not-checked.js';
import { DOCS_RULE } from '../../../tools/manifests/lint/findings/docs-rule.js';
import type { Finding } from '../../../tools/manifests/lint/findings/finding.js';
import type { NamedText } from '../../../tools/manifests/lint/fixes/apply-fixes.js';
import { formatGithub } from '../../../tools/manifests/lint/formats/github.js';
import { formatJson } from '../../../tools/manifests/lint/formats/json.js';
import { formatSarif } from '../../../tools/manifests/lint/formats/sarif.js';
import { formatText } from '../../../tools/manifests/lint/formats/text.js';
import { RULES } from '../../../tools/manifests/lint/rules.js';
import { placesIn } from '../../../tools/manifests/source-file.js';

export interface RenderOptions {
  readonly format: 'text' | 'json' | 'sarif' | 'github';
  readonly isColoured: boolean;
  /** The product's version. */
  readonly version: string;
  /** Programs that were seen and compared with nothing. */
  readonly notChecked: readonly NotChecked[];
}

/** The findings in the form that was asked for. */
export function renderFindings(
  findings: readonly Finding[],
  texts: readonly NamedText[],
  { format, isColoured, version, notChecked }: RenderOptions,
): string {
  const byFile = new Map(texts.map(({ file, text }) => [file, text]));
  switch (format) {
    case 'text':
      return formatText(findings, { texts: byFile, isColoured, fileCount: texts.length, notChecked });
    case 'json':
      return formatJson(findings, notChecked);
    case 'github':
      return formatGithub(findings, notChecked);
    case 'sarif':
      return formatSarif(findings, {
        rules: [...RULES, DOCS_RULE],
        version,
        notChecked,
        placeOf: (file, offset) => {
          const text = byFile.get(file);
          return text === undefined ? undefined : placesIn(text)(offset);
        },
      });
  }
}
