// Runs lint, inject and doctor over the repositories of other people, and counts what they say.
//
//   npm run build && npm run field -- DIR... [options]
//
// A DIR is a repository, or a folder that holds nothing but repositories. Nothing in it is changed.
//
//   --only lint,inject,doctor   what runs (default: all three)
//   --docs                      lint reads Markdown too
//   --sample N                  how many findings below error to show for judging (default 40); every error is shown
//   --seed N                    which of them (default 1)
//   --context N                 lines around a finding (default 4)
//   --judged FILE               judgements: precision by rule; what is judged is not shown again
//   --timeout S                 seconds for one run of a command (default 300)
//   --heap-mb N                 the memory that each command may use for JavaScript (default: Node's own limit)
//   --max-logs N                logs that the doctor reads of one repository (default 50)
//   --json                      the same for programs
//
// A judgement is one line of JSON: {"id":"…","is":"right","why":"…"}; `is` is right or wrong. The id is in the sample.
// It follows from repository, file, rule and line, so that judgements stay good while a rule's words change.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { readDoctor } from './field/doctor-tree.mjs';
import { tryInject } from './field/inject-tree.mjs';
import { precisionOf, readJudgements } from './field/judgements.mjs';
import { lintTree } from './field/lint-tree.mjs';
import { textReport } from './field/report.mjs';
import { PROGRAM } from './field/run-program.mjs';
import { sampleOf } from './field/sample.mjs';
import { treesBelow } from './field/trees.mjs';

const STEPS = ['lint', 'inject', 'doctor'];
const { values, positionals } = orFail(() =>
  parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      only: { type: 'string', default: STEPS.join(',') },
      docs: { type: 'boolean', default: false },
      sample: { type: 'string', default: '40' },
      seed: { type: 'string', default: '1' },
      context: { type: 'string', default: '4' },
      judged: { type: 'string' },
      timeout: { type: 'string', default: '300' },
      'heap-mb': { type: 'string' },
      'max-logs': { type: 'string', default: '50' },
      json: { type: 'boolean', default: false },
    },
  }),
);
if (values.help) {
  const [usage] = readFileSync(new URL(import.meta.url), 'utf8').split('\nimport ');
  process.stdout.write(`${usage.replaceAll(/^\/\/ ?/gm, '')}\n`);
  process.exit(0);
}
const wholeNumber = (name) => {
  const value = Number(values[name]);
  if (!Number.isSafeInteger(value) || value < 0)
    fail(`--${name} must be a whole number, not ${values[name]}`);
  return value;
};
const steps = values.only.split(',');
const unknown = steps.find((step) => !STEPS.includes(step));
if (unknown !== undefined) fail(`--only must name some of ${STEPS.join(', ')}, not ${unknown}`);
if (positionals.length === 0) fail('name a repository, or a folder of repositories');
const missing = positionals.find((folder) => !statSync(folder, { throwIfNoEntry: false })?.isDirectory());
if (missing !== undefined) fail(`${missing} must be a folder, and there is none of that name`);
if (!existsSync(PROGRAM)) fail('there is no built program: run npm run build first');

const limits = {
  timeoutMs: wholeNumber('timeout') * 1_000,
  heapMb: values['heap-mb'] === undefined ? undefined : wholeNumber('heap-mb'),
  maxLogs: wholeNumber('max-logs'),
};
const shown = {
  seed: wholeNumber('seed'),
  count: wholeNumber('sample'),
  contextLines: wholeNumber('context'),
};
const judgements = values.judged === undefined ? new Map() : orFail(() => readJudgements(values.judged));
const repositories = [];
for (const { name, folder } of treesBelow(positionals)) {
  process.stderr.write(`${name}\n`);
  const one = { name };
  if (steps.includes('lint')) one.lint = await lintTree(name, folder, { ...limits, docs: values.docs });
  if (steps.includes('inject')) one.inject = await tryInject(folder, limits);
  if (steps.includes('doctor')) one.doctor = await readDoctor(folder, limits);
  repositories.push(one);
}
const findings = repositories.flatMap(({ lint }) => lint?.findings ?? []);
const report = {
  repositories,
  precision: precisionOf(findings, judgements),
  sample: sampleOf(findings, { ...shown, isKnown: ({ id }) => judgements.has(id) }),
};
process.stdout.write(values.json ? `${JSON.stringify(report, undefined, 2)}\n` : textReport(report));

/** What is wrong with a word of the command line, in one line in place of a stack. */
function orFail(read) {
  try {
    return read();
  } catch (error) {
    return fail(error.message);
  }
}

function fail(message) {
  process.stderr.write(`field: ${message}\n`);
  process.exit(2);
}
