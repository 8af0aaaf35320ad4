import type { ReportDocument } from './document.js';
import type { ReportOptions } from './report-options.js';
import { TerminalText } from './terminal-text.js';
import { writeDetails } from './text-details.js';
import { writeScreen } from './text-screen.js';

/** For people: one screen, and everything behind it when that is asked for. */
export function textReport(report: ReportDocument, options: ReportOptions): string {
  const out = new TerminalText(options);
  writeScreen(out, report, { mentionsVerbose: !options.isVerbose });
  if (options.isVerbose) writeDetails(out, report);
  return out.text;
}
