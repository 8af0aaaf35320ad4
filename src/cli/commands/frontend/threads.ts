import { createServer } from 'node:net';
import { Registry } from 'prom-client';
import type { Closing } from '../../../app/closing.js';
import { followFleet } from '../../../app/follow-fleet.js';
import { httpSecurityOf } from '../../../app/http-security.js';
import {
  baseUrlsOf,
  connectionsOfEach,
  createGateway,
  logServing,
  OPENAI_LISTEN_FIELD,
  openFleet,
  openGatewayParts,
} from '../../../app/open-gateway.js';
import { openSecurity } from '../../../app/open-security.js';
import { openAiAddress } from '../../../app/openai-address.js';
import { SettingError } from '../../../app/setting-error.js';
import { startOrExplain } from '../../../app/start-or-explain.js';
import type { Address } from '../../../edge/platform/address.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import { listen } from '../../../edge/platform/net/listen.js';
import { listenForSignals, STOP_SIGNALS } from '../../../edge/platform/processes/process-signals.js';
import {
  isSecondaryProcess,
  openPrimaryLink,
  startSecondaryProcess,
} from '../../../edge/platform/processes/secondary-process.js';
import { systemRandom } from '../../../edge/platform/random.js';
import { systemEventLoop } from '../../../edge/platform/time/event-loop.js';
import { untilAborted } from '../../../edge/platform/time/on-abort.js';
import { CrewError, GatewayCrew } from '../../../frontend/threads/gateway-crew.js';
import { GatewayThread } from '../../../frontend/threads/gateway-thread.js';
import type { Served } from '../../../frontend/threads/messages.js';
import { registerThreadMetrics } from '../../../frontend/threads/thread-metrics.js';
import type { CommandContext, WithCommon } from '../../command.js';
import { EXIT_CONFLICT, EXIT_FAULT, EXIT_OK, EXIT_USAGE } from '../../exit-codes.js';
import type { SettingsOf } from '../../settings/setting.js';
import type { frontendSettings } from './settings.js';

type Settings = SettingsOf<WithCommon<typeof frontendSettings>>;
type Context = CommandContext<typeof frontendSettings>;

/**
 * Runs `kv-accord frontend` with so many processes for HTTP: the first process
 * has gate, index and router, and starts the others, which run this too.
 */
export function serveInThreads(
  threads: number,
  settings: Settings,
  context: Context,
  closing: Closing,
): Promise<number> {
  return isSecondaryProcess()
    ? serveAsThread(threads, settings, context, closing)
    : serveAsFirst(threads, settings, context, closing);
}

async function serveAsFirst(
  threads: number,
  settings: Settings,
  context: Context,
  closing: Closing,
): Promise<number> {
  const { clock, logger, signal } = context;
  const { given, aggregator, registry, routing, watched } = await openFleet(settings, context, closing);
  const { grpc, http } = await startOrExplain(aggregator);
  const openAi = await startOrExplain({ start: () => findPort(settings) });
  let crew: GatewayCrew | undefined;
  let served: Served = { catalogue: { models: [], groups: [], reasons: [] }, checks: [] };
  const stopFollowing = followFleet(aggregator.fleet.runner, given, context, (now) => {
    served = now;
    crew?.show(now);
  });
  closing.push(stopFollowing);
  const processes = new GatewayCrew(
    {
      threads,
      port: openAi.port,
      statusAddress: http.text,
      maxRequests: connectionsOfEach(settings, threads),
      drainTimeoutMs: settings.drainTimeoutMs,
    },
    served,
    {
      clock,
      logger,
      random: systemRandom,
      turns: systemEventLoop,
      registry,
      routing,
      startMember: startSecondaryProcess,
    },
  );
  crew = processes;
  // Before the aggregator: what runs needs its router to the end.
  closing.push(() => processes.stop());
  try {
    // Reading a vocabulary takes seconds, and a cluster does not wait for long.
    const address = await Promise.race([processes.start(), untilAborted(signal)]);
    if (address === undefined) return EXIT_OK;
  } catch (error) {
    // A terminal's Ctrl-C ends those too that cannot listen to signals yet.
    if (signal.aborted) return EXIT_OK;
    throw error instanceof CrewError && error.isSetting ? new SettingError(error.message) : error;
  }
  logServing(settings, context, { openAi, grpc, http, watched, threads });
  const refusal = await Promise.race([aggregator.refused, untilAborted(signal)]);
  return refusal === undefined ? EXIT_OK : EXIT_CONFLICT;
}

/**
 * Finds out whether the port can be had, and which one 0 stands for, before any
 * process is started: they ask for it one by one, and must all get the same.
 */
async function findPort(settings: Settings): Promise<Address & { readonly type: 'tcp' }> {
  const server = createServer();
  const bound = await listen(server, openAiAddress(settings) as Address, OPENAI_LISTEN_FIELD);
  await new Promise((resolve) => server.close(resolve));
  if (bound.type !== 'tcp') throw new Error('the OpenAI server listens on a port');
  return bound;
}

async function serveAsThread(
  threads: number,
  settings: Settings,
  context: Context,
  closing: Closing,
): Promise<number> {
  // A terminal sends signals to every process; this one ends when the first one says so, or is gone.
  listenForSignals(STOP_SIGNALS, () => undefined);
  context.takeOverSignals();
  const { clock } = context;
  const registry = new Registry();
  const link = new GatewayThread(
    { maxWaiting: connectionsOfEach(settings, threads) },
    { clock, turns: systemEventLoop, registry, link: openPrimaryLink },
  );
  closing.push(() => link.close());
  const { thread, port, statusAddress } = await link.begun;
  const logger = context.logger.child({ thread });
  registerThreadMetrics(registry, thread);
  try {
    const security = await openSecurity(settings, { clock, logger });
    closing.push(() => security.close());
    const parts = await openGatewayParts(settings, { ...context, logger }, closing);
    link.onCatalogue((catalogue) => parts.proxy.setWorkers(baseUrlsOf(catalogue)));
    const gateway = createGateway(settings, { clock, logger }, parts, {
      registry,
      routing: link.routing,
      probes: link.probes,
      tls: httpSecurityOf(security, settings).tls,
      catalogue: () => link.catalogue,
      metricsPage: { answer: (accept) => link.page(accept) },
      statusAddress,
      port,
      sharers: threads,
    });
    closing.push(() => gateway.drain(settings.drainTimeoutMs));
    const address = await startOrExplain(gateway);
    link.listens(address.text);
  } catch (error) {
    const isSetting = error instanceof SettingError;
    link.isUnable({ message: describeError(error), isSetting });
    return isSetting ? EXIT_USAGE : EXIT_FAULT;
  }
  await link.drained;
  return EXIT_OK;
}
