import { Registry } from 'prom-client';
import { parseAddress } from '../../edge/platform/address.js';
import { describeError } from '../../edge/platform/describe-error.js';
import { assignmentOfProcess, openPrimaryLink } from '../../edge/platform/processes/secondary-process.js';
import { createPlaintextSecurity } from '../../edge/security/security.js';
import { FirstProcessLink } from '../../frontend/threads/first-process-link.js';
import type { Assignment } from '../../frontend/threads/messages.js';
import { registerProcessMetrics } from '../../frontend/threads/process-metrics.js';
import type { Closing } from '../closing.js';
import { followRouter } from '../follow-router.js';
import { httpSecurityOf } from '../http-security.js';
import {
  baseUrlsOf,
  connectionsOfEach,
  createGateway,
  type FrontendModules,
  givenUrlsOf,
  openGatewayParts,
} from '../open-gateway.js';
import { openSecurity } from '../open-security.js';
import { SettingError } from '../setting-error.js';
import { startOrExplain } from '../start-or-explain.js';
import type { ServedFrontendSettings } from './open-router.js';

/** How an HTTP process ended: as the first process asked, or because it cannot serve, which the first process knows by then. */
export type HttpProcessEnd = 'drained' | 'setting' | 'fault';

/** Runs one of `threads` processes that serve HTTP, until the first process says so or is gone. */
export async function serveHttpProcess(
  threads: number,
  settings: ServedFrontendSettings,
  context: FrontendModules,
  closing: Closing,
): Promise<HttpProcessEnd> {
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
    return isSetting ? 'setting' : 'fault';
  }
  await link.drained;
  return 'drained';
}
