import type { SourceFile } from '../../source-file.js';
import type { Finding, Rule } from '../findings/finding.js';

/** Problems of one file that are reported; the rest mostly follow from the first. */
const MAX_PROBLEMS = 10;

/** YAML that cannot be read. */
export const unreadable: Rule = {
  id: 'unreadable',
  severity: 'error',
  summary: 'The file, or a document in it, is no YAML that can be read.',
  explanation:
    'What it says was not looked at; nothing is known of its faults. Its other documents were read.',
};

/** Marks of a template of Helm: what a chart holds before `helm template`. */
const TEMPLATE =
  /\{\{-?\s*(?:[.$"(]|if|else|end|with|range|include|template|define|toYaml|tpl|fail|required)/;

/** What cannot be read of a file. */
export function findUnreadable({ file, text, problems }: SourceFile): readonly Finding[] {
  const isTemplate = TEMPLATE.test(text);
  return problems.slice(0, isTemplate ? 1 : MAX_PROBLEMS).map(({ line, column, message }) => ({
    ruleId: unreadable.id,
    severity: unreadable.severity,
    file,
    line,
    column,
    message: isTemplate ? 'this is a template of Helm, not YAML' : message,
    consequence: unreadable.explanation,
    advice: isTemplate
      ? 'Render it first: helm template CHART | kv-accord lint -'
      : 'Write the document so that kubectl apply --dry-run=client reads it.',
  }));
}
