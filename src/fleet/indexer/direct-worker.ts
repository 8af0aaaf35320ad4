import type { DiscoveredWorker } from '../../core/contract/discovered-worker.js';
import type { ObservedSize } from '../../core/contract/observed-size.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { Random } from '../../edge/platform/random.js';
import type { CapabilityReport } from '../../gen/kvaccord/v1/capabilities.js';
import {
  EngineEventReader,
  type EngineEventReaderModules,
} from '../../worker/kv-events/engine-event-reader.js';
import type { ZmqSource } from '../../worker/kv-events/rank-source.js';
import { directReport } from './direct-report.js';
import type { Feed } from './feed.js';
import { RelayFeed } from './relay-feed.js';

/** How much later than its first events an engine that was started anew is told of: Dynamo lets a killed worker's card stand for 14 s. */
const NAMING_MS = 60_000;

export interface DirectWorkerOptions {
  /** Its name in the fleet, and its `worker_id`. */
  readonly target: string;
  /** The served model's name, which events do not tell; undefined where discovery is to tell it. */
  readonly model: string | undefined;
  /** One for each data-parallel rank. */
  readonly sources: readonly ZmqSource[];
  readonly declaredTokensPerBlock: number | undefined;
  /** The product's version, for the report. */
  readonly version: string;
}

export interface DirectWorkerModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Test sockets in place of ZeroMQ. */
  readonly sockets?: EngineEventReaderModules['sockets'];
  /** `report` is another one than before. */
  onReport(): void;
}

/**
 * An engine that is read with no sidecar beside it: its events come straight
 * from its socket, and its report is made of what they tell.
 */
export class DirectWorker {
  readonly target: string;
  readonly feed: Feed;
  readonly #options: DirectWorkerOptions;
  readonly #modules: DirectWorkerModules;
  readonly #engine: EngineEventReader;
  /** By rank. */
  readonly #observed = new Map<number, ObservedSize>();
  #discovered: DiscoveredWorker | undefined;
  /** Which instance discovery told of last. */
  #discoveredInstanceId = '';
  /** When the publisher was restarted and discovery has told of nothing new since; monotonic. */
  #restartedAtMs: number | undefined;
  #instanceId: string;
  #revision = 1n;

  constructor(options: DirectWorkerOptions, modules: DirectWorkerModules) {
    const { clock, random, logger, sockets } = modules;
    this.target = options.target;
    this.#options = options;
    this.#modules = modules;
    this.#instanceId = random.uniqueId();
    this.#engine = new EngineEventReader(
      {},
      {
        clock,
        random,
        logger,
        onObserved: (observed) => this.#observe(observed),
        onPublisherRestart: () => this.#restart(),
        ...(sockets === undefined ? {} : { sockets }),
      },
    );
    this.#engine.setInstance(this.#instanceId);
    this.feed = new RelayFeed(this.#engine);
  }

  /** What is known of it now. */
  get report(): CapabilityReport {
    const { target, model, sources, declaredTokensPerBlock, version } = this.#options;
    return directReport({
      workerId: target,
      model,
      version,
      declaredTokensPerBlock,
      discovered: this.#discovered,
      sources,
      instanceId: this.#instanceId,
      revision: this.#revision,
      observed: [...this.#observed.values()],
      nowMs: this.#modules.clock.wallMs(),
    });
  }

  /** Begins to read. */
  start(): void {
    this.#engine.setSources(this.#options.sources);
  }

  /**
   * What discovery knows of it now; undefined when it does not list it. Another
   * instance than before is another engine, of which no event has proved anything.
   */
  setDiscovered(discovered: DiscoveredWorker | undefined): void {
    this.#discovered = discovered;
    if (discovered === undefined || discovered.instanceId === this.#discoveredInstanceId) {
      // Who comes after one that is gone is another one.
      if (discovered === undefined) this.#restartedAtMs = undefined;
      this.#news();
      return;
    }
    if (!this.#isNaming()) this.#observed.clear();
    this.#restartedAtMs = undefined;
    this.#discoveredInstanceId = discovered.instanceId;
    this.#become(discovered.instanceId);
  }

  /** Whether a new instance is the name of the engine whose events are read already. */
  #isNaming(): boolean {
    if (this.#discoveredInstanceId === '') return true;
    const restartedAtMs = this.#restartedAtMs;
    return restartedAtMs !== undefined && this.#modules.clock.monotonicMs() - restartedAtMs <= NAMING_MS;
  }

  /** Closes every socket. */
  close(): Promise<void> {
    return this.#engine.close();
  }

  #observe(observed: ObservedSize): void {
    this.#observed.set(observed.rank, observed);
    this.#news();
  }

  #news(): void {
    this.#revision += 1n;
    this.#modules.onReport();
  }

  /**
   * The publisher counts anew: so its engine was started anew, and what the old
   * one told is no evidence. Where discovery tells of it, it gives the name too.
   */
  #restart(): void {
    this.#restartedAtMs = this.#modules.clock.monotonicMs();
    this.#observed.clear();
    if (this.#discovered === undefined) this.#become(this.#modules.random.uniqueId());
    else this.#news();
  }

  #become(instanceId: string): void {
    this.#instanceId = instanceId;
    this.#revision = 1n;
    this.#engine.setInstance(instanceId);
    this.#modules.onReport();
  }
}
