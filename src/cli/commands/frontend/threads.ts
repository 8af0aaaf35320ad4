import type { Closing } from '../../../app/closing.js';
import { serveHttpProcess } from '../../../app/frontend/serve-http-process.js';
import { serveInProcesses } from '../../../app/frontend/serve-in-processes.js';
import { listenForSignals, STOP_SIGNALS } from '../../../edge/platform/processes/process-signals.js';
import { isSecondaryProcess } from '../../../edge/platform/processes/secondary-process.js';
import type { CommandContext, WithCommon } from '../../command.js';
import { EXIT_CONFLICT, EXIT_FAULT, EXIT_OK, EXIT_USAGE } from '../../exit-codes.js';
import type { SettingsOf } from '../../settings/setting.js';
import type { frontendSettings } from './settings.js';

const EXIT_OF_HTTP_PROCESS = { drained: EXIT_OK, setting: EXIT_USAGE, fault: EXIT_FAULT } as const;

/**
 * Runs `kv-accord frontend` with so many processes for HTTP: the first process
 * has gate, index and router, and starts the others, which run this too.
 */
export async function serveInThreads(
  threads: number,
  settings: SettingsOf<WithCommon<typeof frontendSettings>>,
  context: CommandContext<typeof frontendSettings>,
  closing: Closing,
): Promise<number> {
  if (isSecondaryProcess()) {
    // A terminal sends signals to every process; this one ends when the first one says so, or is gone.
    listenForSignals(STOP_SIGNALS, () => undefined);
    context.takeOverSignals();
    return EXIT_OF_HTTP_PROCESS[await serveHttpProcess(threads, settings, context, closing)];
  }
  const end = await serveInProcesses(threads, settings, context, closing);
  return end === 'refused' ? EXIT_CONFLICT : EXIT_OK;
}
