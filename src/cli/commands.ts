import { type Command, defineCommand } from './command.js';
import { aggregatorDescription } from './commands/aggregator/settings.js';
import { demoDescription } from './commands/demo/settings.js';
import { doctorDescription } from './commands/doctor/settings.js';
import { eppDescription } from './commands/epp/settings.js';
import { execDescription } from './commands/exec/settings.js';
import { frontendDescription } from './commands/frontend/settings.js';
import { injectDescription } from './commands/inject/settings.js';
import { lintDescription } from './commands/lint/settings.js';
import { sidecarDescription } from './commands/sidecar/settings.js';
import { statusDescription } from './commands/status/settings.js';
import { topDescription } from './commands/top/settings.js';
import { waitDescription } from './commands/wait/settings.js';

/** Every command, in the order of `--help`. Bodies are loaded when they run: `wait` must not pay for the rest. */
export const commands: readonly Command[] = [
  defineCommand(sidecarDescription, async () => (await import('./commands/sidecar/run.js')).runSidecar),
  defineCommand(
    aggregatorDescription,
    async () => (await import('./commands/aggregator/run.js')).runAggregator,
  ),
  defineCommand(frontendDescription, async () => (await import('./commands/frontend/run.js')).runFrontend),
  defineCommand(eppDescription, async () => (await import('./commands/epp/run.js')).runEpp),
  defineCommand(waitDescription, async () => (await import('./commands/wait/run.js')).runWait),
  defineCommand(execDescription, async () => (await import('./commands/exec/run.js')).runExec),
  defineCommand(statusDescription, async () => (await import('./commands/status/run.js')).runStatus),
  defineCommand(topDescription, async () => (await import('./commands/top/run.js')).runTop),
  defineCommand(doctorDescription, async () => (await import('./commands/doctor/run.js')).runDoctor),
  defineCommand(lintDescription, async () => (await import('./commands/lint/run.js')).runLint),
  defineCommand(injectDescription, async () => (await import('./commands/inject/run.js')).runInject),
  defineCommand(demoDescription, async () => (await import('./commands/demo/run.js')).runDemo),
];
