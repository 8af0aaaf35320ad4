import type { Diagnosis } from '../diagnosis.js';
import type { Evidence } from '../evidence.js';
import { htmlReport } from './html-report.js';
import { jsonReport } from './json-report.js';
import { markdownReport } from './markdown-report.js';
import type { ReportOptions } from './report-options.js';
import { textReport } from './text-report.js';

/** The diagnosis in the form that was asked for, with a line feed at its end. */
export function renderReport(diagnosis: Diagnosis, evidence: Evidence, options: ReportOptions): string {
  switch (options.format) {
    case 'text':
      return textReport(diagnosis, evidence, options);
    case 'json':
      return jsonReport(diagnosis, evidence, options);
    case 'markdown':
      return markdownReport(diagnosis, evidence, options);
    case 'html':
      return htmlReport(diagnosis, evidence, options);
  }
}
