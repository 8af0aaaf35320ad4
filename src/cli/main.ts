#!/usr/bin/env node
import { systemClock } from '../edge/platform/clock.js';
import { findPathProblem, readTextFile } from '../edge/platform/files/file.js';
import { readPackageVersion } from '../edge/platform/files/package-version.js';
import { readEnvironment } from '../edge/platform/processes/environment.js';
import { exitOnFault } from '../edge/platform/processes/process-faults.js';
import {
  abortOnStopSignals,
  exitCodeOfSignal,
  exitOnStopSignals,
  keepInspectorShut,
  StoppedBySignal,
} from '../edge/platform/processes/process-signals.js';
import {
  endProcess,
  exitWhenOutputFails,
  standardError,
  standardOutput,
} from '../edge/platform/streams/standard-streams.js';
import { openTerminalKeys } from '../edge/platform/streams/terminal-keys.js';
import { EXIT_FAULT } from './exit-codes.js';

const argv = process.argv.slice(2);
const version = readPackageVersion();
keepInspectorShut();
let isServer = false;
exitWhenOutputFails(() => isServer);

if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
  // Asked by scripts: nothing else is loaded for it.
  standardOutput.write(`${version}\n`);
} else {
  await main();
}

async function main(): Promise<void> {
  const [{ commands }, { runCli, faultReporter }] = await Promise.all([
    import('./commands.js'),
    import('./run.js'),
  ]);
  // The one place that can end everything: each part of the program gets this signal or one that follows it.
  const controller = new AbortController();
  const takeOverSignals = abortOnStopSignals(controller);
  let report = faultReporter(standardError);
  exitOnFault(EXIT_FAULT, (error) => report(error));
  const code = await runCli(argv, {
    commands,
    clock: systemClock,
    environment: readEnvironment(),
    stdout: standardOutput,
    stderr: standardError,
    openKeys: openTerminalKeys,
    signal: controller.signal,
    takeOverSignals,
    version,
    readTextFile,
    findPathProblem,
    onLogger: (logger) => {
      report = faultReporter(standardError, logger);
    },
    onServer: () => {
      isServer = true;
    },
  });
  exitOnStopSignals();
  takeOverSignals();
  const { reason } = controller.signal;
  await endProcess(code, reason instanceof StoppedBySignal ? exitCodeOfSignal(reason.signal) : undefined);
}
