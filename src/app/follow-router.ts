import { ProbeBoard } from '../edge/http/probe-board.js';
import type { Address } from '../edge/platform/address.js';
import type { Clock } from '../edge/platform/clock.js';
import type { Logger } from '../edge/platform/logger.js';
import { systemRandom } from '../edge/platform/random.js';
import { systemEventLoop } from '../edge/platform/time/event-loop.js';
import { RpcDialer } from '../edge/rpc/channel.js';
import type { Security } from '../edge/security/security.js';
import type { Catalogue, GivenUrls } from '../fleet/catalogue/catalogue.js';
import type { Routing } from '../fleet/router/routing.js';
import { routerUnavailableError } from '../frontend/errors/gateway-errors.js';
import type { OpenAiError } from '../frontend/errors/openai-error.js';
import { conflictLogger } from '../frontend/gateway/conflict-log.js';
import { frontendChecks } from '../frontend/gateway/readiness.js';
import { type RouterPage, routerPage } from '../frontend/gateway/router-page.js';
import { ejectionLogger } from '../frontend/router-client/ejection-log.js';
import { reachedCatalogue } from '../frontend/router-client/reached-catalogue.js';
import { RemoteRouter } from '../frontend/router-client/remote-router.js';

export interface FollowRouterOptions {
  readonly address: Address;
  /** Routes at a time whose answer is not there. */
  readonly maxWaiting: number;
  /** Whether conflicts over names, and workers that the router ejects, are logged here. */
  readonly logsConflicts: boolean;
  /** The URLs of `--worker-urls`. */
  readonly given: GivenUrls;
}

export interface FollowRouterModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly security: Security;
  /** Called with what is served, whenever it changes. Absent: nothing is called. */
  readonly onCatalogue?: (catalogue: Catalogue) => void;
}

/** What a gateway needs of a router in another process. */
export interface FollowedRouter {
  readonly routing: Routing;
  readonly probes: ProbeBoard;
  /** What is served; the same object until it changes. */
  catalogue(): Catalogue;
  /** Where the router's status page is; undefined while that is not known. */
  statusPage(): RouterPage | undefined;
  /** Why no request can be taken now; undefined while the router can be asked. */
  findProblem(): OpenAiError | undefined;
  /** Resolves when the router has answered for the first time. */
  readonly answered: Promise<void>;
  close(): Promise<void>;
}

/** Follows the router at an address, and dials it again for as long as it takes. */
export function followRouter(options: FollowRouterOptions, modules: FollowRouterModules): FollowedRouter {
  const { clock, logger, security } = modules;
  const { address, maxWaiting, given, logsConflicts } = options;
  const logConflicts = conflictLogger(logger);
  const logEjections = ejectionLogger(logger);
  const router = new RemoteRouter(
    { address, maxWaiting },
    {
      clock,
      logger,
      dialer: new RpcDialer({}, { clock, security }),
      random: systemRandom,
      eventLoop: systemEventLoop,
    },
  );
  const probes = new ProbeBoard();
  let catalogue = reachedCatalogue(router.state, { router: address, given });
  let onAnswer = (): void => {};
  const answered = new Promise<void>((resolve) => {
    onAnswer = resolve;
  });
  const show = (): void => {
    const { served, problem } = router.state;
    catalogue = reachedCatalogue(router.state, { router: address, given });
    probes.set(
      'readyz',
      problem === undefined
        ? frontendChecks(served.checks, catalogue)
        : [{ name: 'router', ok: false, text: problem }],
    );
    if (logsConflicts) {
      logConflicts(catalogue);
      logEjections(catalogue);
    }
    modules.onCatalogue?.(catalogue);
    if (problem === undefined) onAnswer();
  };
  show();
  const stopListening = router.listen(show);
  router.start();
  return {
    routing: router,
    probes,
    catalogue: () => catalogue,
    statusPage: () => routerPage(router.state.served.statusPage, address),
    findProblem: () => (router.state.problem === undefined ? undefined : routerUnavailableError()),
    answered,
    close: async () => {
      stopListening();
      await router.close();
    },
  };
}
