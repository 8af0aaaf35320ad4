import { jsonText } from '../../../../core/text/printable.js';
import type { Finding } from '../findings/finding.js';

/** For programs: `{"findings": [...]}`, names in snake_case as everywhere in the product's JSON. */
export function formatJson(findings: readonly Finding[]): string {
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
  return `${jsonText({ findings: list }, 2)}\n`;
}
