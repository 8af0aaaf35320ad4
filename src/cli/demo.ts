import type { CommandBody } from './command.js';
import type { demoSettings } from './demo-settings.js';

/** Runs `kv-accord demo`. */
export const runDemo: CommandBody<typeof demoSettings> = async (_settings, _context) => {
  throw new Error('this part of the program is not there yet');
};
