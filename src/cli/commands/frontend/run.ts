import { type Closing, closeAll } from '../../../app/closing.js';
import { serveFrontend } from '../../../app/frontend/serve-frontend.js';
import { availableCores } from '../../../edge/platform/processes/cores.js';
import type { CommandBody, CommandContext, WithCommon } from '../../command.js';
import { EXIT_CONFLICT, EXIT_OK } from '../../exit-codes.js';
import type { SettingsOf } from '../../settings/setting.js';
import { readThreadCount } from '../../settings/thread-count.js';
import type { frontendSettings } from './settings.js';

/** Runs `kv-accord frontend` until it is asked to end, or refuses a change. */
export const runFrontend: CommandBody<typeof frontendSettings> = async (settings, context) => {
  const closing: Closing = [];
  try {
    return await serve(settings, context, closing);
  } finally {
    await closeAll(closing);
  }
};

async function serve(
  settings: SettingsOf<WithCommon<typeof frontendSettings>>,
  context: CommandContext<typeof frontendSettings>,
  closing: Closing,
): Promise<number> {
  const threads = readThreadCount(settings.threads, availableCores) ?? 1;
  if (threads > 1) {
    // What shares a port is loaded only where one is shared.
    const { serveInThreads } = await import('./threads.js');
    return serveInThreads(threads, settings, context, closing);
  }
  const end = await serveFrontend(settings, context, closing);
  return end === 'refused' ? EXIT_CONFLICT : EXIT_OK;
}
