import type { Registry } from 'prom-client';
import type { AgreementOptions } from '../../core/agreement/state/options.js';
import { readinessChecks } from '../../core/agreement/view/readiness.js';
import type { FleetView } from '../../core/agreement/view/snapshot.js';
import { HttpServer, type HttpServerModules } from '../../edge/http/http-server.js';
import { PageFiles } from '../../edge/http/page-files.js';
import { ProbeBoard } from '../../edge/http/probe-board.js';
import type { Address } from '../../edge/platform/address.js';
import { countRefusals } from '../../edge/platform/streams/stream-refusals.js';
import { RpcServer } from '../../edge/rpc/server.js';
import type { Security } from '../../edge/security/security.js';
import { FleetService } from '../../gen/kvaccord/v1/fleet.js';
import type { CreateFleetPart, FleetPart } from './fleet-part.js';
import { FleetWatch, type FleetWatchModules } from './fleet-watch.js';
import { FleetMetrics } from './metrics/fleet-metrics.js';
import { OfferReporter } from './offer-reporter.js';
import { fleetRoutes, fleetStatus } from './service/fleet-pages.js';
import { createFleetService } from './service/fleet-service.js';

/** Name under which gRPC health follows the gate. @internal */
export const FLEET_HEALTH = 'kvaccord.v1.Fleet';

/** How long open streams and requests may take to end. */
const STOP_GRACE_MS = 5_000;

export interface AggregatorOptions {
  readonly agreement: AgreementOptions;
  /** Where gRPC is served; port 0 picks a free one. */
  readonly listen: Address;
  /** Where probes, metrics and the status page are served. */
  readonly httpListen: Address;
  /** The product's version. */
  readonly version: string;
  /** What its status page and its API call the process. Default `kv-accord aggregator`. */
  readonly title?: string;
  /** Models that are to be served always, for the metrics by which an outage shows. Default none: see `MissedGroups`. */
  readonly expectedModels?: readonly string[];
}

export interface AggregatorModules extends FleetWatchModules {
  readonly security: Security;
  readonly registry: Registry;
  /** Who may see the status page and ask the API, and how HTTP is protected. */
  readonly httpSecurity?: Pick<HttpServerModules, 'access' | 'tls'>;
  /** What is built on the agreement, such as the index. Default none. */
  readonly parts?: readonly CreateFleetPart[];
}

/** Where an aggregator serves. */
export interface AggregatorAddresses {
  readonly grpc: Address;
  readonly http: Address;
}

/** The process beside a frontend: collects, agrees, and answers every client that asks. */
export class Aggregator {
  readonly fleet: FleetWatch;
  readonly #server: RpcServer;
  readonly #http: HttpServer;
  readonly #probes = new ProbeBoard();
  readonly #metrics: FleetMetrics;
  readonly #parts: readonly FleetPart[];
  readonly #isTls: boolean;
  /** Why the process is to end (A9 under `refuse`); resolves at most once. */
  readonly refused: Promise<string>;

  constructor(options: AggregatorOptions, modules: AggregatorModules) {
    const { clock, logger, random, security, registry, httpSecurity } = modules;
    const { title = 'kv-accord aggregator' } = options;
    this.#isTls = httpSecurity?.tls !== undefined;
    const frontendId = random.uniqueId();
    this.fleet = new FleetWatch(options.agreement, { ...modules, frontendId });
    const { runner, board } = this.fleet;
    const offers = new OfferReporter({ frontendId }, { clock });
    this.fleet.accompany(offers);
    runner.listen(offers);
    this.#metrics = new FleetMetrics(
      { expectedModels: options.expectedModels ?? [] },
      {
        registry,
        clock,
        view: () => runner.view,
        pairs: (group) => runner.pairsOf(group),
        faults: () => runner.faults,
        sources: () => this.fleet.sources,
      },
    );
    countRefusals(registry, 'capabilities', this.fleet.refusals);
    this.#server = new RpcServer({ listen: options.listen }, { clock, logger, random, security });
    this.#server.addService(FleetService, createFleetService({ runner, board, edge: this.#server.edge }));
    this.#parts = (modules.parts ?? []).map((create) => create({ runner, edge: this.#server.edge }));
    for (const part of this.#parts) {
      for (const { definition, implementation } of part.services) {
        this.#server.addService(definition, implementation);
      }
      this.fleet.accompany(part);
      runner.listen(part);
    }
    this.#http = new HttpServer(
      { listen: options.httpListen, title, version: options.version },
      {
        clock,
        logger,
        registry,
        probes: this.#probes,
        page: new PageFiles(),
        status: () => fleetStatus(runner.view, title),
        api: [...fleetRoutes({ runner, board }), ...this.#parts.flatMap(({ routes = [] }) => routes)],
        streams: this.#parts.flatMap(({ streams = [] }) => streams),
        ...httpSecurity,
      },
    );
    this.refused = new Promise((resolve) => {
      runner.listen({
        onView: (view) => this.#show(view),
        onEffect: (effect) => {
          this.#metrics.record(effect);
          if (effect.type === 'refuse') resolve(effect.message);
        },
      });
    });
    this.#show(runner.view);
  }

  /** Takes its ports and begins to watch; rejects with a `ListenError`, and then nothing is left open. */
  async start(): Promise<AggregatorAddresses> {
    const grpc = await this.#server.start();
    try {
      const http = await this.#http.start();
      const scheme = this.#isTls ? 'https' : 'http';
      const statusPage = http.type === 'tcp' ? `${scheme}://${http.text}` : '';
      for (const part of this.#parts) part.start(statusPage);
      this.fleet.start();
      return { grpc, http };
    } catch (error) {
      await this.#server.stop(0);
      throw error;
    }
  }

  /** Ends streams, servers and sessions, within a few seconds. */
  async stop(): Promise<void> {
    await Promise.all([this.#server.stop(STOP_GRACE_MS), this.#http.stop(STOP_GRACE_MS)]);
    await this.fleet.close();
    await Promise.all(this.#parts.map((part) => part.close()));
  }

  #show(view: FleetView): void {
    const checks = readinessChecks(view);
    this.#probes.set('readyz', checks);
    this.#probes.set('startupz', checks);
    this.#server.health.setStatus(
      FLEET_HEALTH,
      view.groups.some(({ gateOpen }) => gateOpen) ? 'SERVING' : 'NOT_SERVING',
    );
    this.#metrics.update(view);
  }
}
