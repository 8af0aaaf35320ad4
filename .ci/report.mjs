// Reads what vitest reports as JSON, for .ci/run.
//
//   report.mjs tally FIRST [SECOND]   "passed failed skipped"; SECOND is the report of the failed files' second try
//   report.mjs files FIRST            the files in which something failed
//   report.mjs failures FIRST         each failure with the first line of its message
//   report.mjs unbegun FIRST          the files that were not begun, because no time was left
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
    const skipped = numPendingTests + numTodoTests + report.testResults.flatMap(unbegunTestsOf).length;
    console.log(numPassedTests + failures.length - failed, failed, skipped);
    break;
  }
  case 'files':
    for (const file of new Set(failures.map((failure) => failure.file))) console.log(file);
    break;
  case 'failures':
    for (const { file, name, message } of failures) console.log(`${file}: ${name}: ${message}`);
    break;
  case 'unbegun':
    for (const result of report.testResults.filter((one) => unbegunTestsOf(one).length > 0))
      console.log(fileOf(result));
    break;
  default:
    throw new Error(`no report "${what}"`);
}

function read(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** Failed tests, and files that failed outside their tests, as in a hook. */
function failuresOf({ testResults }) {
  return testResults.flatMap((result) => {
    const { status, message, assertionResults } = result;
    const file = fileOf(result);
    const tests = assertionResults
      .filter((test) => test.status === 'failed')
      .map((test) => ({ file, name: test.fullName, message: lineOf(test.failureMessages[0]) }));
    if (tests.length > 0 || status !== 'failed') return tests;
    return [{ file, name: 'outside its tests', message: lineOf(message) }];
  });
}

/** Tests that were collected, and whose turn never came; one that was skipped says so. */
function unbegunTestsOf({ assertionResults }) {
  return assertionResults.filter(({ status }) => status === 'pending');
}

function fileOf({ name: path }) {
  return relative(process.cwd(), path);
}

function lineOf(text = '') {
  return text.split('\n', 1)[0].slice(0, 300);
}
