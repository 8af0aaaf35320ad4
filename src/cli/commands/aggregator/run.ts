import { openAggregator } from '../../../app/open-aggregator.js';
import { startOrExplain } from '../../../app/start-or-explain.js';
import { untilAborted } from '../../../edge/platform/time/on-abort.js';
import type { CommandBody } from '../../command.js';
import { EXIT_CONFLICT, EXIT_OK } from '../../exit-codes.js';
import type { aggregatorSettings } from './settings.js';

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
