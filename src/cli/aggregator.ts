import { Aggregator } from '../aggregator/aggregator.js';
import { FleetIndexing } from '../indexer/fleet-indexing.js';
import { createRegistry } from '../platform/metrics.js';
import { systemRandom } from '../platform/random.js';
import { systemTurns } from '../platform/turns.js';
import { RpcDialer } from '../rpc/channel.js';
import type { aggregatorSettings } from './aggregator-settings.js';
import type { CommandBody } from './command.js';
import { EXIT_CONFLICT, EXIT_OK } from './exit-codes.js';
import { httpSecurityOf } from './http-security.js';
import { agreementOptionsOf, openSource } from './open-feed.js';
import { openSecurity } from './open-security.js';
import { startOrExplain } from './start-or-explain.js';

/** Runs `kv-accord aggregator` until it is asked to end, or refuses a change. */
export const runAggregator: CommandBody<typeof aggregatorSettings> = async (settings, context) => {
  const { clock, logger, signal, version } = context;
  const source = openSource(settings, clock);
  const security = await openSecurity(settings, context);
  const registry = createRegistry({ version });
  const aggregator = new Aggregator(
    {
      agreement: agreementOptionsOf(settings, settings.onChange, source),
      listen: settings.listen,
      httpListen: settings.httpListen,
      version,
    },
    {
      clock,
      logger,
      random: systemRandom,
      source,
      security,
      httpSecurity: httpSecurityOf(security, settings),
      registry,
      dialer: new RpcDialer({}, { clock, security }),
      parts: [
        ({ runner, edge }) =>
          new FleetIndexing(
            {},
            { clock, random: systemRandom, turns: systemTurns, registry, fleet: runner, edge },
          ),
      ],
    },
  );
  try {
    const { grpc, http } = await startOrExplain(aggregator);
    logger.info(
      { grpc: grpc.text, http: http.text, workers: source.name },
      `kv-accord aggregator ${version} watches ${source.name}`,
    );
    const stopped = new Promise<undefined>((resolve) => {
      if (signal.aborted) resolve(undefined);
      signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    const refusal = await Promise.race([aggregator.refused, stopped]);
    return refusal === undefined ? EXIT_OK : EXIT_CONFLICT;
  } finally {
    await aggregator.stop();
    security.close();
  }
};
