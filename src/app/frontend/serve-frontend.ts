import type { Closing } from '../closing.js';
import {
  baseUrlsOf,
  connectionsOfEach,
  createGateway,
  logServing,
  openGatewayParts,
} from '../open-gateway.js';
import { startOrExplain } from '../start-or-explain.js';
import {
  type FrontendEnd,
  openRouter,
  type ServedFrontendModules,
  type ServedFrontendSettings,
} from './open-router.js';

/** Runs a frontend in this process alone, until it is asked to end or refuses a change. */
export async function serveFrontend(
  settings: ServedFrontendSettings,
  modules: ServedFrontendModules,
  closing: Closing,
): Promise<FrontendEnd> {
  const parts = await openGatewayParts(settings, modules, closing);
  const router = await openRouter(
    settings,
    connectionsOfEach(settings, 1),
    { ...modules, onCatalogue: (catalogue) => parts.proxy.setWorkers(baseUrlsOf(catalogue)) },
    closing,
  );
  const gateway = createGateway(settings, modules, parts, router.gateway);
  // Before the router: what runs needs it to the end.
  closing.push(() => gateway.drain(settings.drainTimeoutMs));
  const openAi = await startOrExplain(gateway);
  logServing(settings, modules, { openAi, ...router.about });
  return router.ended();
}
