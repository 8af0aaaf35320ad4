import type { CommandBody } from './command.js';
import type { sidecarSettings } from './sidecar-settings.js';

/** Runs `kv-accord sidecar`. */
export const runSidecar: CommandBody<typeof sidecarSettings> = async (_settings, _context) => {
  throw new Error('this part of the program is not there yet');
};
