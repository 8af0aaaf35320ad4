import { type Closing, closeAll } from '../../../app/closing.js';
import { followFleet } from '../../../app/follow-fleet.js';
import { followRouter } from '../../../app/follow-router.js';
import { httpSecurityOf } from '../../../app/http-security.js';
import {
  baseUrlsOf,
  connectionsOfEach,
  createGateway,
  givenUrlsOf,
  logServing,
  openFleet,
  openGatewayParts,
} from '../../../app/open-gateway.js';
import { openSecurity } from '../../../app/open-security.js';
import { startOrExplain } from '../../../app/start-or-explain.js';
import { ProbeBoard } from '../../../edge/http/probe-board.js';
import type { Address } from '../../../edge/platform/address.js';
import { createRegistry } from '../../../edge/platform/metrics/metrics.js';
import { availableCores } from '../../../edge/platform/processes/cores.js';
import { untilAborted } from '../../../edge/platform/time/on-abort.js';
import type { Catalogue } from '../../../fleet/catalogue/catalogue.js';
import type { CommandBody, CommandContext, WithCommon } from '../../command.js';
import { EXIT_CONFLICT, EXIT_OK } from '../../exit-codes.js';
import type { SettingsOf } from '../../settings/setting.js';
import { readThreadCount } from '../../settings/thread-count.js';
import type { frontendSettings } from './settings.js';

type Settings = SettingsOf<WithCommon<typeof frontendSettings>>;
type Context = CommandContext<typeof frontendSettings>;

/** Runs `kv-accord frontend` until it is asked to end, or refuses a change. */
export const runFrontend: CommandBody<typeof frontendSettings> = async (settings, context) => {
  const closing: Closing = [];
  try {
    return await serve(settings, context, closing);
  } finally {
    await closeAll(closing);
  }
};

async function serve(settings: Settings, context: Context, closing: Closing): Promise<number> {
  const threads = readThreadCount(settings.threads, availableCores) ?? 1;
  if (threads > 1) {
    // What shares a port is loaded only where one is shared.
    const { serveInThreads } = await import('./threads.js');
    return serveInThreads(threads, settings, context, closing);
  }
  if (settings.router !== undefined) return serveOverRouter(settings.router, settings, context, closing);
  const { signal } = context;
  const parts = await openGatewayParts(settings, context, closing);
  const { given, aggregator, registry, routing, tls, watched } = await openFleet(settings, context, closing);
  const probes = new ProbeBoard();
  let catalogue: Catalogue = { models: [], groups: [], reasons: [] };
  const stopFollowing = followFleet(aggregator.fleet.runner, given, context, (served) => {
    catalogue = served.catalogue;
    probes.set('readyz', served.checks);
    parts.proxy.setWorkers(baseUrlsOf(catalogue));
  });
  closing.push(stopFollowing);
  const { grpc, http } = await startOrExplain(aggregator);
  const gateway = createGateway(settings, context, parts, {
    registry,
    routing,
    probes,
    tls,
    statusAddress: http.text,
    catalogue: () => catalogue,
  });
  // Before the aggregator: what runs needs its router to the end.
  closing.push(() => gateway.drain(settings.drainTimeoutMs));
  const openAi = await startOrExplain(gateway);
  logServing(settings, context, { openAi, grpc, http, watched });
  const refusal = await Promise.race([aggregator.refused, untilAborted(signal)]);
  return refusal === undefined ? EXIT_OK : EXIT_CONFLICT;
}

/** Serves over the router of another process. */
async function serveOverRouter(
  address: Address,
  settings: Settings,
  context: Context,
  closing: Closing,
): Promise<number> {
  const { clock, logger, signal, version } = context;
  const parts = await openGatewayParts(settings, context, closing);
  const security = await openSecurity(settings, { clock, logger });
  closing.push(() => security.close());
  const router = followRouter(
    {
      address,
      maxWaiting: connectionsOfEach(settings, 1),
      logsConflicts: true,
      given: givenUrlsOf(settings),
    },
    { clock, logger, security, onCatalogue: (catalogue) => parts.proxy.setWorkers(baseUrlsOf(catalogue)) },
  );
  closing.push(() => router.close());
  const gateway = createGateway(settings, context, parts, {
    ...router,
    registry: createRegistry({ version }),
    tls: httpSecurityOf(security, settings).tls,
  });
  closing.push(() => gateway.drain(settings.drainTimeoutMs));
  const openAi = await startOrExplain(gateway);
  logServing(settings, context, { openAi, watched: `the router at ${address.text}` });
  await untilAborted(signal);
  return EXIT_OK;
}
