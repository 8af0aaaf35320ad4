import { createServer } from 'node:net';
import type { Address } from '../../edge/platform/address.js';
import { listen } from '../../edge/platform/net/listen.js';
import { startSecondaryProcess } from '../../edge/platform/processes/secondary-process.js';
import { systemRandom } from '../../edge/platform/random.js';
import { untilAborted } from '../../edge/platform/time/on-abort.js';
import { HttpProcesses, HttpProcessesError } from '../../frontend/threads/http-processes.js';
import type { Closing } from '../closing.js';
import { logServing, OPENAI_LISTEN_FIELD } from '../open-gateway.js';
import { openAiAddress } from '../openai-address.js';
import { serveRouterOnSocket } from '../serve-router.js';
import { SettingError } from '../setting-error.js';
import { startOrExplain } from '../start-or-explain.js';
import {
  type FrontendEnd,
  type OpenedRouter,
  openRouter,
  type ServedFrontendModules,
  type ServedFrontendSettings,
} from './open-router.js';

type TcpAddress = Address & { readonly type: 'tcp' };

/**
 * Runs a frontend with so many processes for HTTP, until it is asked to end or refuses a change. This first process has
 * gate, index and router, which the others use, or knows of them from the process that has them.
 */
export async function serveInProcesses(
  threads: number,
  settings: ServedFrontendSettings,
  modules: ServedFrontendModules,
  closing: Closing,
): Promise<FrontendEnd> {
  // It asks for no route: it reports conflicts over names, and knows whose metrics to show.
  const router = await openRouter(settings, 0, modules, closing);
  const openAi = await startProcesses(threads, router, settings, modules, closing);
  if (openAi === undefined) return 'asked';
  logServing(settings, modules, { openAi, ...router.about, threads });
  return router.ended();
}

/** Starts the processes that serve HTTP; undefined where this one was asked to end before they served. */
async function startProcesses(
  threads: number,
  { gateway, services }: OpenedRouter,
  settings: ServedFrontendSettings,
  modules: ServedFrontendModules,
  closing: Closing,
): Promise<TcpAddress | undefined> {
  const { clock, logger, signal } = modules;
  const socket = services === undefined ? undefined : await serveRouterOnSocket(services, modules);
  closing.push(() => socket?.close());
  const { registry, statusAddress, catalogue } = gateway;
  const openAi = await startOrExplain({ start: () => findPort(settings) });
  const processes = new HttpProcesses(
    {
      threads,
      port: openAi.port,
      drainTimeoutMs: settings.drainTimeoutMs,
      ...(statusAddress === undefined ? {} : { statusAddress }),
      ...(socket === undefined ? {} : { router: socket.address }),
    },
    {
      registry,
      groups: () => catalogue().groups.map(({ group }) => group),
      clock,
      logger,
      random: systemRandom,
      startProcess: startSecondaryProcess,
    },
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
async function findPort(settings: ServedFrontendSettings): Promise<TcpAddress> {
  const server = createServer();
  const bound = await listen(server, openAiAddress(settings) as Address, OPENAI_LISTEN_FIELD);
  await new Promise((resolve) => server.close(resolve));
  if (bound.type !== 'tcp') throw new Error('the OpenAI server listens on a port');
  return bound;
}
