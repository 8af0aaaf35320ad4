import type { CommandBody } from './command.js';
import type { execSettings } from './exec-settings.js';

/** Runs `kv-accord exec`. */
export const runExec: CommandBody<typeof execSettings> = async (_settings, _context) => {
  throw new Error('this part of the program is not there yet');
};
