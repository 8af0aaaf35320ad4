import { jsonText } from '../../../../core/text/printable.js';
import type { NotChecked } from '../facts/not-checked.js';
import type { Finding } from '../findings/finding.js';

/** For programs: `{"findings": [...], "not_checked": [...]}`, names in snake_case as everywhere in the product's JSON. */
export function formatJson(findings: readonly Finding[], notChecked: readonly NotChecked[] = []): string {
  const list = findings.map(({ ruleId, severity, file, line, column, message, ...rest }) => ({
    rule_id: ruleId,
    severity,
    file,
    line,
    column,
    message,
    consequence: rest.consequence,
    advice: rest.advice,
    fix: rest.fix ?? null,
    related: rest.related ?? [],
  }));
  return `${jsonText({ findings: list, not_checked: notChecked }, 2)}\n`;
}
