import { createServer } from 'node:net';
import { Registry } from 'prom-client';
import type { Closing } from '../../../app/closing.js';
import { followFleet } from '../../../app/follow-fleet.js';
import { followRouter } from '../../../app/follow-router.js';
import { httpSecurityOf } from '../../../app/http-security.js';
import {
  baseUrlsOf,
  connectionsOfEach,
  createGateway,
  givenUrlsOf,
  logServing,
  OPENAI_LISTEN_FIELD,
  openFleet,
  openGatewayParts,
} from '../../../app/open-gateway.js';
import { openSecurity } from '../../../app/open-security.js';
import { openAiAddress } from '../../../app/openai-address.js';
import { serveRouterOnSocket } from '../../../app/serve-router.js';
import { SettingError } from '../../../app/setting-error.js';
import { startOrExplain } from '../../../app/start-or-explain.js';
import { type Address, parseAddress } from '../../../edge/platform/address.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import { createRegistry } from '../../../edge/platform/metrics/metrics.js';
import { listen } from '../../../edge/platform/net/listen.js';
import { listenForSignals, STOP_SIGNALS } from '../../../edge/platform/processes/process-signals.js';
import {
  assignmentOfProcess,
  isSecondaryProcess,
  openPrimaryLink,
  startSecondaryProcess,
} from '../../../edge/platform/processes/secondary-process.js';
import { systemRandom } from '../../../edge/platform/random.js';
import { untilAborted } from '../../../edge/platform/time/on-abort.js';
import { createPlaintextSecurity } from '../../../edge/security/security.js';
import { FirstProcessLink } from '../../../frontend/threads/first-process-link.js';
import { HttpProcesses, HttpProcessesError } from '../../../frontend/threads/http-processes.js';
import type { Assignment } from '../../../frontend/threads/messages.js';
import { registerProcessMetrics } from '../../../frontend/threads/process-metrics.js';
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
  if (isSecondaryProcess()) return serveHttp(threads, settings, context, closing);
  return settings.router === undefined
    ? serveWithRouter(threads, settings, context, closing)
    : serveOverRouter(settings.router, threads, settings, context, closing);
}

/** The first process, with the router that the others use. */
async function serveWithRouter(
  threads: number,
  settings: Settings,
  context: Context,
  closing: Closing,
): Promise<number> {
  const { signal } = context;
  const { given, aggregator, registry, routerServices, watched } = await openFleet(
    settings,
    context,
    closing,
  );
  const { grpc, http } = await startOrExplain(aggregator);
  let groups: readonly string[] = [];
  const stopFollowing = followFleet(aggregator.fleet.runner, given, context, ({ catalogue }) => {
    groups = catalogue.groups.map(({ group }) => group);
  });
  closing.push(stopFollowing);
  const socket = await serveRouterOnSocket(routerServices, context);
  closing.push(() => socket.close());
  const openAi = await startProcesses(
    { threads, statusAddress: http.text, router: socket.address },
    settings,
    context,
    closing,
    { registry, groups: () => groups },
  );
  if (openAi === undefined) return EXIT_OK;
  logServing(settings, context, { openAi, grpc, http, watched, threads });
  const refusal = await Promise.race([aggregator.refused, untilAborted(signal)]);
  return refusal === undefined ? EXIT_OK : EXIT_CONFLICT;
}

/** The first process, over a router that runs elsewhere: each of the others asks it. */
async function serveOverRouter(
  address: Address,
  threads: number,
  settings: Settings,
  context: Context,
  closing: Closing,
): Promise<number> {
  const { clock, logger, signal, version } = context;
  const security = await openSecurity(settings, { clock, logger });
  closing.push(() => security.close());
  // It asks for no route: it reports conflicts over names, and knows whose metrics to show.
  const router = followRouter(
    { address, maxWaiting: 0, logsConflicts: true, given: givenUrlsOf(settings) },
    { clock, logger, security },
  );
  closing.push(() => router.close());
  const openAi = await startProcesses({ threads }, settings, context, closing, {
    registry: createRegistry({ version }),
    groups: () => router.catalogue().groups.map(({ group }) => group),
  });
  if (openAi === undefined) return EXIT_OK;
  logServing(settings, context, { openAi, watched: `the router at ${address.text}`, threads });
  await untilAborted(signal);
  return EXIT_OK;
}

/** Starts the processes that serve HTTP; undefined where this one was asked to end before they served. */
async function startProcesses(
  assignment: Omit<Assignment, 'thread' | 'port'> & { readonly threads: number },
  settings: Settings,
  { clock, logger, signal }: Context,
  closing: Closing,
  modules: { readonly registry: Registry; groups(): readonly string[] },
): Promise<(Address & { readonly type: 'tcp' }) | undefined> {
  const openAi = await startOrExplain({ start: () => findPort(settings) });
  const processes = new HttpProcesses(
    { ...assignment, port: openAi.port, drainTimeoutMs: settings.drainTimeoutMs },
    { ...modules, clock, logger, random: systemRandom, startProcess: startSecondaryProcess },
  );
  // Before the router: what runs needs it to the end.
  closing.push(() => processes.stop());
  try {
    // Reading a vocabulary takes seconds, and a cluster does not wait for long.
    const address = await Promise.race([processes.start(), untilAborted(signal)]);
    return address === undefined ? undefined : openAi;
  } catch (error) {
    // A terminal's Ctrl-C ends those too that cannot listen to signals yet.
    if (signal.aborted) return undefined;
    throw error instanceof HttpProcessesError && error.isSetting ? new SettingError(error.message) : error;
  }
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

/** One of the processes that serve HTTP. */
async function serveHttp(
  threads: number,
  settings: Settings,
  context: Context,
  closing: Closing,
): Promise<number> {
  // A terminal sends signals to every process; this one ends when the first one says so, or is gone.
  listenForSignals(STOP_SIGNALS, () => undefined);
  context.takeOverSignals();
  const { thread, port, statusAddress, router: socket } = JSON.parse(assignmentOfProcess()) as Assignment;
  const { clock } = context;
  const registry = new Registry();
  const link = new FirstProcessLink({ clock, registry, link: openPrimaryLink });
  closing.push(() => link.close());
  const logger = context.logger.child({ thread });
  registerProcessMetrics(registry, thread);
  try {
    const security = await openSecurity(settings, { clock, logger });
    closing.push(() => security.close());
    const parts = await openGatewayParts(settings, { ...context, logger }, closing);
    const address = socket === undefined ? settings.router : parseAddress(socket);
    if (address === undefined) throw new Error('there is no router');
    const router = followRouter(
      {
        address,
        maxWaiting: connectionsOfEach(settings, threads),
        logsConflicts: false,
        given: givenUrlsOf(settings),
      },
      {
        clock,
        logger,
        security: socket === undefined ? security : createPlaintextSecurity(),
        onCatalogue: (catalogue) => parts.proxy.setWorkers(baseUrlsOf(catalogue)),
      },
    );
    closing.push(() => router.close());
    if (socket !== undefined) await router.answered;
    const gateway = createGateway(settings, { clock, logger }, parts, {
      ...router,
      registry,
      tls: httpSecurityOf(security, settings).tls,
      metricsPage: { answer: (accept) => link.page(accept) },
      statusAddress,
      port,
      sharers: threads,
    });
    closing.push(() => gateway.drain(settings.drainTimeoutMs));
    const openAi = await startOrExplain(gateway);
    link.reportListening(openAi.text);
  } catch (error) {
    const isSetting = error instanceof SettingError;
    link.reportUnable({ message: describeError(error), isSetting });
    return isSetting ? EXIT_USAGE : EXIT_FAULT;
  }
  await link.drained;
  return EXIT_OK;
}
