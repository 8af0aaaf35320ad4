export { textReport as markdownReport } from './text-report.js';
