import type { Registry } from 'prom-client';
import { ProbeBoard } from '../../edge/http/probe-board.js';
import type { Address } from '../../edge/platform/address.js';
import { createRegistry } from '../../edge/platform/metrics/metrics.js';
import { untilAborted } from '../../edge/platform/time/on-abort.js';
import type { ServedTls } from '../../edge/security/served-tls.js';
import type { PartService } from '../../fleet/aggregator/fleet-part.js';
import type { Catalogue } from '../../fleet/catalogue/catalogue.js';
import type { Routing } from '../../fleet/router/routing.js';
import type { OpenAiError } from '../../frontend/errors/openai-error.js';
import type { RouterPage } from '../../frontend/gateway/router-page.js';
import type { Closing } from '../closing.js';
import { followFleet } from '../follow-fleet.js';
import { followRouter } from '../follow-router.js';
import { httpSecurityOf } from '../http-security.js';
import { type FrontendModules, type FrontendSettings, givenUrlsOf, openFleet } from '../open-gateway.js';
import { openSecurity } from '../open-security.js';
import { startOrExplain } from '../start-or-explain.js';

/** All that decides what `kv-accord frontend` runs. */
export interface ServedFrontendSettings extends FrontendSettings {
  /** The router of another process; undefined where gate, index and router are to run here. */
  readonly router: Address | undefined;
  /** How long running requests may go on when the process ends. */
  readonly drainTimeoutMs: number;
}

/** Modules of a frontend, and when it is to end. */
export interface ServedFrontendModules extends FrontendModules {
  readonly signal: AbortSignal;
}

/** How a frontend ended: because it was asked to, or because its fleet changed in a way that `--on-change` refuses. */
export type FrontendEnd = 'asked' | 'refused';

/** The router of a frontend: its own, or that of another process. */
export interface OpenedRouter {
  /** What a gateway in this process needs of it. */
  readonly gateway: {
    readonly registry: Registry;
    readonly routing: Routing;
    readonly probes: ProbeBoard;
    readonly tls: ServedTls | undefined;
    readonly statusAddress: string | undefined;
    /** Where the status page of a router elsewhere is. */
    statusPage?(): RouterPage | undefined;
    catalogue(): Catalogue;
    findProblem?(): OpenAiError | undefined;
  };
  /** `kvaccord.v1.Router`, for the processes that this one starts; undefined where they ask the other process themselves. */
  readonly services: readonly PartService[] | undefined;
  /** What is logged when requests are taken. */
  readonly about: { readonly watched: string; readonly grpc?: Address; readonly http?: Address };
  /** Resolves when the frontend is to end. */
  ended(): Promise<FrontendEnd>;
}

/**
 * Opens the router that the settings name, and starts it. `maxWaiting`: routes at a time whose answer is not there, of
 * this process alone. `onCatalogue` is called with what is served, whenever that changes.
 */
export function openRouter(
  settings: ServedFrontendSettings,
  maxWaiting: number,
  modules: ServedFrontendModules & { onCatalogue?(catalogue: Catalogue): void },
  closing: Closing,
): Promise<OpenedRouter> {
  return settings.router === undefined
    ? openOwnRouter(settings, modules, closing)
    : openRemoteRouter(settings.router, settings, maxWaiting, modules, closing);
}

async function openOwnRouter(
  settings: ServedFrontendSettings,
  modules: ServedFrontendModules & { onCatalogue?(catalogue: Catalogue): void },
  closing: Closing,
): Promise<OpenedRouter> {
  const { given, aggregator, registry, routing, routerServices, tls, watched } = await openFleet(
    settings,
    modules,
    closing,
  );
  const probes = new ProbeBoard();
  let catalogue: Catalogue = { models: [], groups: [], reasons: [] };
  const stopFollowing = followFleet(aggregator.fleet.runner, given, modules, (served) => {
    catalogue = served.catalogue;
    probes.set('readyz', served.checks);
    modules.onCatalogue?.(catalogue);
  });
  closing.push(stopFollowing);
  const { grpc, http } = await startOrExplain(aggregator);
  return {
    gateway: { registry, routing, probes, tls, statusAddress: http.text, catalogue: () => catalogue },
    services: routerServices,
    about: { watched, grpc, http },
    ended: async () => {
      const refusal = await Promise.race([aggregator.refused, untilAborted(modules.signal)]);
      return refusal === undefined ? 'asked' : 'refused';
    },
  };
}

async function openRemoteRouter(
  address: Address,
  settings: ServedFrontendSettings,
  maxWaiting: number,
  modules: ServedFrontendModules & { onCatalogue?(catalogue: Catalogue): void },
  closing: Closing,
): Promise<OpenedRouter> {
  const { clock, logger, signal, version, onCatalogue } = modules;
  const security = await openSecurity(settings, { clock, logger });
  closing.push(() => security.close());
  const router = followRouter(
    { address, maxWaiting, logsConflicts: true, given: givenUrlsOf(settings) },
    { clock, logger, security, ...(onCatalogue === undefined ? {} : { onCatalogue }) },
  );
  closing.push(() => router.close());
  const { routing, probes, catalogue, findProblem, statusPage } = router;
  return {
    gateway: {
      registry: createRegistry({ version }),
      routing,
      probes,
      tls: httpSecurityOf(security, settings).tls,
      statusAddress: undefined,
      statusPage,
      catalogue,
      findProblem,
    },
    services: undefined,
    about: { watched: `the router at ${address.text}` },
    ended: async () => {
      await untilAborted(signal);
      return 'asked';
    },
  };
}
