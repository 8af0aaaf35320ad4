import { Registry } from 'prom-client';
import { Aggregator, type AggregatorAddresses } from '../aggregator/aggregator.js';
import { DEFAULT_AGREEMENT_OPTIONS } from '../agreement/options.js';
import type { FleetView } from '../agreement/snapshot.js';
import type { Clock } from '../platform/clock.js';
import type { Random } from '../platform/random.js';
import { RpcDialer } from '../rpc/channel.js';
import { createPlaintextSecurity } from '../rpc/security.js';
import type { EngineSetup, EngineSurface } from './engine-surface.js';
import { type ProcessLine, ProcessLog } from './process-log.js';
import { StageSource } from './stage-source.js';
import { DemoWorker, FREE_PORT } from './worker.js';

export interface StageOptions {
  readonly version: string;
  /** Milliseconds between questions to an engine, and how long things must have stood still. */
  readonly probeIntervalMs: number;
  readonly settleMs: number;
  /** The operator's own value, as `--kv-cache-block-size` gives it. */
  readonly overrideTokensPerBlock?: number | undefined;
}

export interface StageModules {
  readonly clock: Clock;
  readonly random: Random;
  /** Gets every line that a process of this stage logs. */
  readonly onLine: (line: ProcessLine) => void;
  /** Told whenever the aggregator's answers are new. */
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
  readonly #source = new StageSource();
  readonly #aggregator: Aggregator;
  readonly #workers = new Map<string, DemoWorker>();
  #addresses: AggregatorAddresses | undefined;

  constructor(options: StageOptions, modules: StageModules) {
    this.#options = options;
    this.#modules = modules;
    const { clock, random, onLine, onView } = modules;
    const override = options.overrideTokensPerBlock;
    this.#aggregator = new Aggregator(
      {
        agreement: {
          ...DEFAULT_AGREEMENT_OPTIONS,
          settleMs: options.settleMs,
          overrideTokensPerBlock: override,
          mismatchedWorkers: override === undefined ? 'quarantine' : 'load-only',
        },
        listen: FREE_PORT,
        httpListen: FREE_PORT,
        version: options.version,
      },
      {
        clock,
        random,
        logger: new ProcessLog({ from: 'aggregator' }, { onLine }),
        source: this.#source,
        security: this.#security,
        registry: new Registry(),
        dialer: new RpcDialer({}, { clock, security: this.#security }),
      },
    );
    this.#aggregator.fleet.runner.listen({ onView });
  }

  /** The aggregator's answers as last prepared. */
  get view(): FleetView {
    return this.#aggregator.fleet.runner.view;
  }

  /** Where the aggregator serves; undefined until `open`. */
  get addresses(): AggregatorAddresses | undefined {
    return this.#addresses;
  }

  /** The workers, in the order in which they came. */
  get workers(): readonly DemoWorker[] {
    return [...this.#workers.values()];
  }

  /** Brings the aggregator up, with no workers yet. */
  async open(): Promise<void> {
    this.#addresses = await this.#aggregator.start();
  }

  /** Brings workers up, each with its engine down, and lets discovery list them. */
  async addWorkers(
    workers: readonly {
      readonly name: string;
      readonly surface: EngineSurface;
      readonly setup: EngineSetup;
    }[],
  ): Promise<void> {
    const { clock, random, onLine } = this.#modules;
    const { version, probeIntervalMs } = this.#options;
    for (const { name, surface, setup } of workers) {
      const worker = new DemoWorker(
        { name, surface, setup, probeIntervalMs, version },
        {
          clock,
          random,
          security: this.#security,
          logger: new ProcessLog({ from: `sidecar ${name}` }, { onLine }),
        },
      );
      // Before it opens: one that fails half-way must still be closed.
      this.#workers.set(name, worker);
      await worker.open();
    }
    this.#source.list(
      this.workers.flatMap(({ name, addresses }) =>
        addresses === undefined ? [] : [{ target: name, address: addresses.grpc.text }],
      ),
    );
  }

  /** The worker of that name. */
  worker(name: string): DemoWorker {
    const worker = this.#workers.get(name);
    if (worker === undefined) throw new Error(`there is no worker ${name} on the stage`);
    return worker;
  }

  /** Ends everything; when it resolves, no port is taken any more. */
  async close(): Promise<void> {
    // The aggregator first: that sidecars end is then nothing that it would have to tell.
    await this.#aggregator.stop();
    await Promise.all(this.workers.map((worker) => worker.close()));
    this.#security.close();
  }
}
