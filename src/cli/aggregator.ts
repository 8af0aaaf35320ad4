import type { aggregatorSettings } from './aggregator-settings.js';
import type { CommandBody } from './command.js';
import { EXIT_CONFLICT, EXIT_OK } from './exit-codes.js';
import { openAggregator } from './open-aggregator.js';
import { startOrExplain } from './start-or-explain.js';
import { untilAborted } from './until-aborted.js';

/** Runs `kv-accord aggregator` until it is asked to end, or refuses a change. */
export const runAggregator: CommandBody<typeof aggregatorSettings> = async (settings, context) => {
  const { logger, signal, version } = context;
  const { aggregator, watched, close } = await openAggregator(settings, context);
  try {
    const { grpc, http } = await startOrExplain(aggregator);
    logger.info(
      { grpc: grpc.text, http: http.text, workers: watched },
      `kv-accord aggregator ${version} watches ${watched}`,
    );
    const refusal = await Promise.race([aggregator.refused, untilAborted(signal)]);
    return refusal === undefined ? EXIT_OK : EXIT_CONFLICT;
  } finally {
    await close();
  }
};
