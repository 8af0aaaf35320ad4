import type { CommandBody } from './command.js';
import type { waitSettings } from './wait-settings.js';

/** Runs `kv-accord wait`. */
export const runWait: CommandBody<typeof waitSettings> = async (_settings, _context) => {
  throw new Error('this part of the program is not there yet');
};
