export { textReport as htmlReport } from './text-report.js';
