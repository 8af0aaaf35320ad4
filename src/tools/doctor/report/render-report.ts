import type { Diagnosis } from '../diagnosis.js';
import type { Evidence } from '../evidence.js';
import { reportDocument } from './document.js';
import { htmlReport } from './html-report.js';
import { jsonReport } from './json-report.js';
import { markdownReport } from './markdown-report.js';
import type { ReportOptions } from './report-options.js';
import { textReport } from './text-report.js';

/** The diagnosis in the form that was asked for, with a line feed at its end. */
export function renderReport(diagnosis: Diagnosis, evidence: Evidence, options: ReportOptions): string {
  // Programs get diagnosis and evidence as they are; people get what the document shows of them.
  if (options.format === 'json') return jsonReport(diagnosis, evidence, options);
  const report = reportDocument(diagnosis, evidence, options);
  switch (options.format) {
    case 'text':
      return textReport(report, options);
    case 'markdown':
      return markdownReport(report);
    case 'html':
      return htmlReport(report);
  }
}
