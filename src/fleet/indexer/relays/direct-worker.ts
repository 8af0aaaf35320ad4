import type { DiscoveredWorker } from '../../../core/contract/evidence/discovered-worker.js';
import type { ObservedSize } from '../../../core/contract/evidence/observed-size.js';
import { type SidecarlessKnowledge, SidecarlessReports } from '../../../core/contract/sidecarless-reports.js';
import type { ZmqSource } from '../../../core/relay/rank-source.js';
import type { Relay } from '../../../core/relay/relay.js';
import type { Clock } from '../../../edge/platform/clock.js';
import type { Logger } from '../../../edge/platform/logger.js';
import type { Random } from '../../../edge/platform/random.js';
import type { CapabilityReport } from '../../../gen/kvaccord/v1/capabilities.js';
import { directKnowledge } from './direct-knowledge.js';
import { LocalRelaySource } from './local-relay-source.js';
import type { RelaySource } from './relay-source.js';

/** How much later than its first events discovery lists an engine that was restarted: Dynamo lets a killed worker's card stand for 14 s. */
const NAMING_MS = 60_000;

/** Reads one engine's events, all ranks, as a relay; it is handed in, and the fleet does not know how. */
export interface EngineReader extends Relay {
  /** The engine start that is running, as in its report. Another one than before starts its cache view again. */
  setInstance(instanceId: string): void;
  /** One source for each data-parallel rank; reading begins with the first. */
  setSources(sources: readonly ZmqSource[]): void;
  /** Closes every socket. */
  close(): Promise<void>;
}

export interface EngineReaderModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The first block size that an event of a rank proves, and every later one that differs. */
  readonly onObserved: (observed: ObservedSize) => void;
  /** The publisher was restarted, so the engine itself probably was. */
  readonly onPublisherRestart: (rank: number) => void;
}

/** Makes the reader of an engine's KV events. It is passed in: `fleet` imports nothing of `worker`. */
export type CreateEngineReader = (modules: EngineReaderModules) => EngineReader;

export interface DirectWorkerOptions {
  /** Its name in the fleet, and its `worker_id`. */
  readonly target: string;
  /** The served model's name, which events do not name; undefined where discovery is to name it. */
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
  readonly createEngineReader: CreateEngineReader;
  /** `report` is another one than before. */
  onReport(): void;
}

/**
 * An engine that is read with no sidecar beside it: its events come straight
 * from its socket, and its report is made of what they show.
 */
export class DirectWorker {
  readonly target: string;
  readonly source: RelaySource;
  readonly #options: DirectWorkerOptions;
  readonly #modules: DirectWorkerModules;
  readonly #engine: EngineReader;
  /** By rank. */
  readonly #observed = new Map<number, ObservedSize>();
  #discovered: DiscoveredWorker | undefined;
  /** Which instance discovery named last. */
  #discoveredInstanceId = '';
  /** When the publisher was restarted and discovery has named no new instance since; monotonic. */
  #restartedAtMs: number | undefined;
  #instanceId: string;
  readonly #reports: SidecarlessReports;

  constructor(options: DirectWorkerOptions, modules: DirectWorkerModules) {
    const { clock, random, logger, createEngineReader } = modules;
    this.target = options.target;
    this.#options = options;
    this.#modules = modules;
    this.#instanceId = random.uniqueId();
    this.#engine = createEngineReader({
      clock,
      random,
      logger,
      onObserved: (observed) => this.#observe(observed),
      onPublisherRestart: () => this.#restart(),
    });
    this.#engine.setInstance(this.#instanceId);
    this.source = new LocalRelaySource(this.#engine);
    const { target, version } = options;
    this.#reports = new SidecarlessReports(
      { workerId: target, sidecarVersion: version },
      this.#knowledge,
      clock.wallMs(),
    );
  }

  /** What is known of it now. */
  get report(): CapabilityReport {
    return this.#reports.current;
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
      this.#renew();
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

  get #knowledge(): SidecarlessKnowledge {
    const { model, sources, declaredTokensPerBlock } = this.#options;
    return directKnowledge({
      model,
      declaredTokensPerBlock,
      discovered: this.#discovered,
      sources,
      instanceId: this.#instanceId,
      observed: [...this.#observed.values()],
      nowMs: this.#modules.clock.wallMs(),
    });
  }

  #observe(observed: ObservedSize): void {
    this.#observed.set(observed.rank, observed);
    this.#renew();
  }

  #renew(): void {
    if (this.#reports.renew(this.#knowledge, this.#modules.clock.wallMs())) this.#modules.onReport();
  }

  /**
   * The publisher counts from the beginning: so its engine was restarted, and what the old
   * one reported is no evidence. Where discovery knows of it, it gives the name too.
   */
  #restart(): void {
    this.#restartedAtMs = this.#modules.clock.monotonicMs();
    this.#observed.clear();
    if (this.#discovered === undefined) this.#become(this.#modules.random.uniqueId());
    else this.#renew();
  }

  #become(instanceId: string): void {
    this.#instanceId = instanceId;
    this.#engine.setInstance(instanceId);
    this.#renew();
  }
}
