// Reads what vitest reports as JSON, for .ci/run.
//
//   report.mjs tally FIRST [SECOND]   "passed failed skipped"; SECOND is the report of the failed files' second try
//   report.mjs files FIRST            the files in which something failed
//   report.mjs failures FIRST         each failure with the first line of its message
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

const [what, first, second] = process.argv.slice(2);
const report = read(first);
const failures = failuresOf(report);

switch (what) {
  case 'tally': {
    const { numPassedTests, numPendingTests, numTodoTests } = report;
    // Whoever passes at the second try has passed; the summary names it all the same.
    const failed = second && existsSync(second) ? failuresOf(read(second)).length : failures.length;
    console.log(numPassedTests + failures.length - failed, failed, numPendingTests + numTodoTests);
    break;
  }
  case 'files':
    for (const file of new Set(failures.map((failure) => failure.file))) console.log(file);
    break;
  case 'failures':
    for (const { file, name, message } of failures) console.log(`${file}: ${name}: ${message}`);
    break;
  default:
    throw new Error(`no report "${what}"`);
}

function read(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** Failed tests, and files that failed outside their tests, as in a hook. */
function failuresOf({ testResults }) {
  return testResults.flatMap(({ name: path, status, message, assertionResults }) => {
    const file = relative(process.cwd(), path);
    const tests = assertionResults
      .filter((test) => test.status === 'failed')
      .map((test) => ({ file, name: test.fullName, message: lineOf(test.failureMessages[0]) }));
    if (tests.length > 0 || status !== 'failed') return tests;
    return [{ file, name: 'outside its tests', message: lineOf(message) }];
  });
}

function lineOf(text = '') {
  return text.split('\n', 1)[0].slice(0, 300);
}
