import { Registry } from 'prom-client';
import { createAggregator } from '../../src/app/create-aggregator.js';
import type { AgreementOptions } from '../../src/core/agreement/state/options.js';
import { DEFAULT_AGREEMENT_OPTIONS } from '../../src/core/agreement/state/options.js';
import type { Address } from '../../src/edge/platform/address.js';
import { systemClock } from '../../src/edge/platform/clock.js';
import { systemResolver } from '../../src/edge/platform/net/resolver.js';
import { systemRandom } from '../../src/edge/platform/random.js';
import { RpcDialer } from '../../src/edge/rpc/channel.js';
import { createPlaintextSecurity } from '../../src/edge/security/security.js';
import type { Aggregator, AggregatorAddresses } from '../../src/fleet/aggregator/aggregator.js';
import { createDiscoverySource } from '../../src/fleet/discovery/create-source.js';
import type { DiscoverySource } from '../../src/fleet/discovery/source.js';
import { StaticSource } from '../../src/fleet/discovery/static.js';
import type { FleetIndexing, FleetIndexingOptions } from '../../src/fleet/indexer/fleet-indexing.js';
import type { FleetRouter, FleetRouterOptions } from '../../src/fleet/router/fleet-router.js';
import { EngineEventReader } from '../../src/worker/kv-events/engine-event-reader.js';
import { Changes } from './changes.js';
import { RecordingLogger } from './recording-logger.js';

/** Any free port of this machine. */
const ANY_PORT: Address = { type: 'tcp', host: '127.0.0.1', port: 0, text: '127.0.0.1:0' };

/** Where it serves, a free port by default, and what its index learns from. */
interface Places {
  readonly listen?: Address | undefined;
  readonly httpListen?: Address | undefined;
  readonly indexing?: FleetIndexingOptions;
  readonly routing?: Partial<FleetRouterOptions>;
  /** A file that lists the workers, in place of a fixed list. */
  readonly workersFile?: string;
}

/** A real aggregator on free ports, and what a test needs to watch it. */
export class AggregatorHarness {
  readonly aggregator: Aggregator;
  readonly logger: RecordingLogger = new RecordingLogger();
  /** Called at every new view. */
  readonly changes: Changes = new Changes();
  readonly dialer: RpcDialer;
  readonly registry: Registry = new Registry();
  readonly indexing: FleetIndexing;
  readonly routing: FleetRouter;
  addresses: AggregatorAddresses | undefined;

  private constructor(source: DiscoverySource, options: Partial<AgreementOptions>, places: Places) {
    const security = createPlaintextSecurity();
    const modules = { clock: systemClock, random: systemRandom };
    this.dialer = new RpcDialer({}, { clock: systemClock, security });
    const made = createAggregator(
      {
        agreement: { ...DEFAULT_AGREEMENT_OPTIONS, isStaticDiscovery: source.isStatic, ...options },
        listen: places.listen ?? ANY_PORT,
        httpListen: places.httpListen ?? ANY_PORT,
        version: '0.0.0',
        indexing: places.indexing ?? {},
        routing: places.routing ?? {},
      },
      {
        ...modules,
        logger: this.logger,
        source,
        security,
        httpSecurity: {},
        registry: this.registry,
        createEngineReader: (its) => new EngineEventReader({}, its),
      },
    );
    this.aggregator = made.aggregator;
    this.indexing = made.indexing();
    this.routing = made.routing();
    this.aggregator.fleet.runner.listen({ onView: () => this.changes.notify() });
  }

  static async start(
    workers: readonly string[],
    options: Partial<AgreementOptions> = {},
    places: Places = {},
  ): Promise<AggregatorHarness> {
    const source =
      workers.length === 0 && places.workersFile === undefined
        ? new StaticSource({ addresses: [] })
        : await createDiscoverySource(
            places.workersFile === undefined ? { workers } : { workers, workersFile: places.workersFile },
            {
              clock: systemClock,
              random: systemRandom,
              resolver: systemResolver,
              logger: new RecordingLogger(),
              environment: {},
            },
          );
    const harness = new AggregatorHarness(source, options, places);
    harness.addresses = await harness.aggregator.start();
    return harness;
  }

  /** `127.0.0.1:PORT` of the gRPC server. */
  get grpc(): string {
    return this.addresses?.grpc.text ?? '';
  }

  /** Base URL of the HTTP server. */
  get http(): string {
    return `http://${this.addresses?.http.text ?? ''}`;
  }

  /** Resolves as soon as the gate of the only group is open or shut as asked. */
  untilGate(open: boolean): Promise<void> {
    return this.changes.until(() => {
      const { groups } = this.aggregator.fleet.runner.view;
      return groups.length > 0 && groups.every(({ gateOpen }) => gateOpen === open);
    });
  }

  /** Resolves as soon as the prepared view is as asked. */
  untilView(holds: (view: Aggregator['fleet']['runner']['view']) => boolean): Promise<void> {
    return this.changes.until(() => holds(this.aggregator.fleet.runner.view));
  }

  stop(): Promise<void> {
    return this.aggregator.stop();
  }
}
