import type { CommandBody } from './command.js';
import type { statusSettings } from './status-settings.js';

/** Runs `kv-accord status`. */
export const runStatus: CommandBody<typeof statusSettings> = async (_settings, _context) => {
  throw new Error('this part of the program is not there yet');
};
