import type { Diagnosis } from '../diagnosis.js';
import type { Evidence } from '../evidence.js';
import type { ReportOptions } from './report-options.js';
import { TerminalText } from './terminal-text.js';
import { writeDetails } from './text-details.js';
import { writeScreen } from './text-screen.js';

/** For people: one screen, and everything behind it when that is asked for. */
export function textReport(diagnosis: Diagnosis, evidence: Evidence, options: ReportOptions): string {
  const out = new TerminalText(options);
  writeScreen(out, diagnosis, evidence, { mentionsVerbose: !options.isVerbose });
  if (options.isVerbose) writeDetails(out, diagnosis, evidence, options);
  return out.text;
}
