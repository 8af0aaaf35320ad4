import { type Closing, closeAll } from '../../../app/closing.js';
import { serveEpp } from '../../../app/epp/serve-epp.js';
import type { CommandBody } from '../../command.js';
import { EXIT_CONFLICT, EXIT_OK } from '../../exit-codes.js';
import type { eppSettings } from './settings.js';

/** Runs `kv-accord epp` until it is asked to end, or refuses a change. */
export const runEpp: CommandBody<typeof eppSettings> = async (settings, context) => {
  const closing: Closing = [];
  try {
    const end = await serveEpp(settings, context, closing);
    return end === 'refused' ? EXIT_CONFLICT : EXIT_OK;
  } finally {
    await closeAll(closing);
  }
};
