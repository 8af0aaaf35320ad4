import type { FleetView } from '../agreement/snapshot.js';
import { buildCatalogue, type Catalogue } from '../frontend/catalogue.js';
import { conflictTeller } from '../frontend/conflict-teller.js';
import { frontendChecks } from '../frontend/readiness.js';
import { ProbeBoard } from '../http/probe-board.js';
import { availableCores } from '../platform/cores.js';
import { type Closing, closeAll } from './closing.js';
import type { CommandBody, CommandContext, WithCommon } from './command.js';
import { EXIT_CONFLICT, EXIT_OK } from './exit-codes.js';
import type { frontendSettings } from './frontend-settings.js';
import { baseUrlsOf, createGateway, openFleet, openGatewayParts, tellServing } from './open-gateway.js';
import type { SettingsOf } from './settings/setting.js';
import { startOrExplain } from './start-or-explain.js';
import { readThreadCount } from './thread-count.js';
import { untilAborted } from './until-aborted.js';

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
    const { serveInThreads } = await import('./frontend-threads.js');
    return serveInThreads(threads, settings, context, closing);
  }
  const { signal } = context;
  const parts = await openGatewayParts(settings, context, closing);
  const { given, aggregator, registry, routing, tls, watched } = await openFleet(settings, context, closing);
  const probes = new ProbeBoard();
  let catalogue: Catalogue = { models: [], groups: [], reasons: [] };
  const tellConflicts = conflictTeller(context.logger);
  const show = (view: FleetView): void => {
    catalogue = buildCatalogue(view, given);
    tellConflicts(catalogue);
    probes.set('readyz', frontendChecks(view, catalogue));
    parts.proxy.setWorkers(baseUrlsOf(catalogue));
  };
  const { runner } = aggregator.fleet;
  show(runner.view);
  closing.push(runner.listen({ onView: show }));
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
  tellServing(settings, context, { openAi, grpc, http, watched });
  const refusal = await Promise.race([aggregator.refused, untilAborted(signal)]);
  return refusal === undefined ? EXIT_OK : EXIT_CONFLICT;
}
