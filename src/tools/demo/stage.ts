import type { FleetView } from '../../core/agreement/view/snapshot.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { Random } from '../../edge/platform/random.js';
import { createPlaintextSecurity } from '../../edge/security/security.js';
import type { AggregatorAddresses } from '../../fleet/aggregator/aggregator.js';
import type { Endpoint } from '../../fleet/discovery/source.js';
import type { EngineRole, Topology } from '../../gen/kvaccord/v1/capabilities.js';
import { DemoAggregator, type DemoAggregatorOptions } from './demo-aggregator.js';
import { DemoFrontend } from './demo-frontend.js';
import { DemoTraffic } from './demo-traffic.js';
import type { EngineSetup, EngineSurface } from './engines/engine-surface.js';
import { type ProcessLine, ProcessLog } from './process-log.js';
import { DemoWorker } from './worker.js';

export interface StageOptions extends DemoAggregatorOptions {
  /** Milliseconds between a sidecar's questions to its engine. */
  readonly probeIntervalMs: number;
}

/** A worker to be brought up. */
export interface PlannedWorker {
  readonly name: string;
  readonly surface: EngineSurface;
  readonly setup: EngineSetup;
  /** Whether its engine is up before its sidecar. Default false: it is down until a scene starts it. */
  readonly isRunning?: boolean;
  /** What its sidecar finds of its host. Default: nothing is looked for. */
  readonly topology?: Topology;
  /** Its part of each request. Default: it does not say. */
  readonly role?: EngineRole;
}

export interface StageModules {
  readonly clock: Clock;
  readonly random: Random;
  /** Gets every line that a process of this stage logs. */
  readonly onLine: (line: ProcessLine) => void;
  /** Called whenever the aggregator's answers are new. */
  readonly onView: (view: FleetView) => void;
}

/**
 * One fleet: simulated engines, their sidecars, and an aggregator that watches
 * them. All are the parts that the commands run, on free ports of the
 * loopback, and they meet over the same sockets; only they share this process,
 * so that a fleet is up in an instant and nothing can be left behind.
 */
export class Stage {
  readonly #options: StageOptions;
  readonly #modules: StageModules;
  readonly #security = createPlaintextSecurity();
  readonly #aggregator: DemoAggregator;
  /** Those that came later. */
  readonly #others: DemoAggregator[] = [];
  readonly #frontends: DemoFrontend[] = [];
  readonly #traffic: DemoTraffic[] = [];
  readonly #workers = new Map<string, DemoWorker>();

  constructor(options: StageOptions, modules: StageModules) {
    this.#options = options;
    this.#modules = modules;
    this.#aggregator = this.#createAggregator('aggregator', options);
    this.#aggregator.fleet.listen({ onView: modules.onView });
  }

  /** The aggregator's answers as last prepared. */
  get view(): FleetView {
    return this.#aggregator.view;
  }

  /** Where the aggregator serves; undefined until `open`. */
  get addresses(): AggregatorAddresses | undefined {
    return this.#aggregator.addresses;
  }

  /** The aggregator that was there from the beginning. */
  get aggregator(): DemoAggregator {
    return this.#aggregator;
  }

  /** The workers, in the order in which they came. */
  get workers(): readonly DemoWorker[] {
    return [...this.#workers.values()];
  }

  /** The OpenAI servers, in the order in which they came. */
  get frontends(): readonly DemoFrontend[] {
    return this.#frontends;
  }

  /** Brings the aggregator up, with no workers yet. */
  async open(): Promise<void> {
    await this.#aggregator.open();
  }

  /** Brings workers up, and lets discovery list them. */
  async addWorkers(workers: readonly PlannedWorker[]): Promise<void> {
    const { clock, random, onLine } = this.#modules;
    const { version, probeIntervalMs } = this.#options;
    const added = workers.map(({ name, surface, setup, isRunning = false, topology, role }) => {
      const worker = new DemoWorker(
        { name, surface, setup, probeIntervalMs, version, topology, role },
        {
          clock,
          random,
          security: this.#security,
          logger: new ProcessLog({ from: `sidecar ${name}` }, { onLine }),
        },
      );
      // Before it opens: one that fails half-way must still be closed.
      this.#workers.set(name, worker);
      return { worker, isRunning };
    });
    // The engines first: once a sidecar is up, it asks.
    for (const { worker, isRunning } of added) {
      await worker.engine.open();
      if (isRunning) worker.engine.start();
    }
    for (const { worker } of added) await worker.open();
    for (const aggregator of [this.#aggregator, ...this.#others]) aggregator.list(this.#endpoints);
  }

  /** Brings up one more aggregator over the same workers, as beside another frontend. */
  async addAggregator(name: string, changes: Partial<DemoAggregatorOptions> = {}): Promise<DemoAggregator> {
    const aggregator = this.#createAggregator(name, { ...this.#options, ...changes });
    this.#others.push(aggregator);
    aggregator.list(this.#endpoints);
    await aggregator.open();
    return aggregator;
  }

  /** Brings up an OpenAI server over an aggregator, as `kv-accord frontend` has both in one process. */
  async addFrontend(aggregator: DemoAggregator = this.#aggregator): Promise<DemoFrontend> {
    const frontend = new DemoFrontend({ clock: this.#modules.clock, aggregator });
    this.#frontends.push(frontend);
    await frontend.open();
    return frontend;
  }

  /** Lets people talk through a frontend until the stage is closed. */
  startTraffic({ url }: DemoFrontend, model: string): void {
    const { clock, onLine } = this.#modules;
    const logger = new ProcessLog({ from: 'people' }, { onLine });
    this.#traffic.push(new DemoTraffic({ url, model }, { clock, logger }));
  }

  /** The worker of that name. */
  worker(name: string): DemoWorker {
    const worker = this.#workers.get(name);
    if (worker === undefined) throw new Error(`there is no worker ${name} on the stage`);
    return worker;
  }

  /** Ends everything; when it resolves, no port is taken any more. */
  async close(): Promise<void> {
    await Promise.all(this.#traffic.map((traffic) => traffic.close()));
    await Promise.all(this.#frontends.map((frontend) => frontend.close()));
    // The aggregators before the sidecars: they would otherwise log that sidecars are gone.
    await Promise.all([this.#aggregator, ...this.#others].map((aggregator) => aggregator.close()));
    await Promise.all(this.workers.map((worker) => worker.close()));
    this.#security.close();
  }

  get #endpoints(): readonly Endpoint[] {
    return this.workers.flatMap(({ name, addresses }) =>
      addresses === undefined ? [] : [{ target: name, address: addresses.grpc.text }],
    );
  }

  #createAggregator(from: string, options: DemoAggregatorOptions): DemoAggregator {
    const { clock, random, onLine } = this.#modules;
    const logger = new ProcessLog({ from }, { onLine });
    return new DemoAggregator(options, { clock, random, logger, security: this.#security });
  }
}
