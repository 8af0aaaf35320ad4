#!/usr/bin/env node
import { systemClock } from '../platform/clock.js';
import { readEnvironment } from '../platform/environment.js';
import { findPathProblem, readTextFile } from '../platform/file.js';
import { readPackageVersion } from '../platform/package-version.js';
import { listenForFaults } from '../platform/process-faults.js';
import { abortOnStopSignals } from '../platform/process-signals.js';
import { exitWhenReaderLeaves, standardError, standardOutput } from '../platform/standard-streams.js';
import { EXIT_FAULT } from './exit-codes.js';

const argv = process.argv.slice(2);
const version = readPackageVersion();

if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
  // Asked by scripts: nothing else is loaded for it.
  standardOutput.write(`${version}\n`);
} else {
  await main();
}

async function main(): Promise<void> {
  const [{ commands }, { runCli, tellFault }] = await Promise.all([
    import('./commands.js'),
    import('./run.js'),
  ]);
  // The one place that can end everything: each part of the program gets this signal or one that follows it.
  const controller = new AbortController();
  const takeOverSignals = abortOnStopSignals(controller);
  exitWhenReaderLeaves();
  let report = tellFault(standardError);
  listenForFaults((error) => {
    report(error);
    process.exit(EXIT_FAULT);
  });
  process.exitCode = await runCli(argv, {
    commands,
    clock: systemClock,
    environment: readEnvironment(),
    stdout: standardOutput,
    stderr: standardError,
    signal: controller.signal,
    takeOverSignals,
    version,
    readTextFile,
    findPathProblem,
    onLogger: (logger) => {
      report = tellFault(standardError, logger);
    },
  });
}
