import { aggregatorDescription } from './aggregator-settings.js';
import { type Command, defineCommand } from './command.js';
import { demoDescription } from './demo-settings.js';
import { doctorDescription } from './doctor-settings.js';
import { execDescription } from './exec-settings.js';
import { frontendDescription } from './frontend-settings.js';
import { injectDescription } from './inject-settings.js';
import { lintDescription } from './lint-settings.js';
import { sidecarDescription } from './sidecar-settings.js';
import { statusDescription } from './status-settings.js';
import { waitDescription } from './wait-settings.js';

/** Every command, in the order of `--help`. Bodies are loaded when they run: `wait` must not pay for the rest. */
export const commands: readonly Command[] = [
  defineCommand(sidecarDescription, async () => (await import('./sidecar.js')).runSidecar),
  defineCommand(aggregatorDescription, async () => (await import('./aggregator.js')).runAggregator),
  defineCommand(frontendDescription, async () => (await import('./frontend.js')).runFrontend),
  defineCommand(waitDescription, async () => (await import('./wait.js')).runWait),
  defineCommand(execDescription, async () => (await import('./exec.js')).runExec),
  defineCommand(statusDescription, async () => (await import('./status.js')).runStatus),
  defineCommand(doctorDescription, async () => (await import('./doctor.js')).runDoctor),
  defineCommand(lintDescription, async () => (await import('./lint.js')).runLint),
  defineCommand(injectDescription, async () => (await import('./inject.js')).runInject),
  defineCommand(demoDescription, async () => (await import('./demo.js')).runDemo),
];
