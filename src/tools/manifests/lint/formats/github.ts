import type { NotChecked } from '../facts/not-checked.js';
import type { Finding, Severity } from '../findings/finding.js';
import { notCheckedLine } from './not-checked-line.js';

const COMMANDS: Readonly<Record<Severity, string>> = { error: 'error', warning: 'warning', note: 'notice' };

/**
 * Workflow commands of GitHub Actions, one a line, which show as annotations in
 * a pull request:
 * https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
 */
export function formatGithub(findings: readonly Finding[], notChecked: readonly NotChecked[] = []): string {
  const line = notCheckedLine(notChecked).trimEnd();
  const title = property('kv-accord not checked');
  const notice = line === '' ? '' : `::notice title=${title}::${data(line)}\n`;
  const annotations = findings
    .map(({ severity, file, line, column, ruleId, message, consequence, advice }) => {
      const place = `file=${property(file)},line=${line},col=${column},title=${property(`kv-accord ${ruleId}`)}`;
      return `::${COMMANDS[severity]} ${place}::${data(`${message}\n${consequence}\n${advice}`)}\n`;
    })
    .join('');
  return annotations + notice;
}

function data(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
