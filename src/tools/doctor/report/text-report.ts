import type { Diagnosis } from '../diagnosis.js';
import type { Evidence } from '../evidence.js';
import { Paper } from './paper.js';
import type { ReportOptions } from './report-options.js';
import { writeDetails } from './text-details.js';
import { writeScreen } from './text-screen.js';

/** For people: one screen, and everything behind it when that is asked for. */
export function textReport(diagnosis: Diagnosis, evidence: Evidence, options: ReportOptions): string {
  const paper = new Paper(options);
  writeScreen(paper, diagnosis, evidence, { tellsOfMore: !options.isVerbose });
  if (options.isVerbose) writeDetails(paper, diagnosis, evidence, options);
  return paper.text;
}
