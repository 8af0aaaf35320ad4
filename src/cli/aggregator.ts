import type { aggregatorSettings } from './aggregator-settings.js';
import type { CommandBody } from './command.js';

/** Runs `kv-accord aggregator`. */
export const runAggregator: CommandBody<typeof aggregatorSettings> = async (_settings, _context) => {
  throw new Error('this part of the program is not there yet');
};
