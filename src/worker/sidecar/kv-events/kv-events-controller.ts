import type { ObservedSize } from '../../../core/contract/evidence/observed-size.js';
import type { RankSource } from '../../../core/relay/rank-source.js';
import type { Relay, RelayPosition, RelayReader } from '../../../core/relay/relay.js';
import type { Clock } from '../../../edge/platform/clock.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import type { Logger } from '../../../edge/platform/logger.js';
import type { Random } from '../../../edge/platform/random.js';
import { type CapabilityReport, EngineState } from '../../../gen/kvaccord/v1/capabilities.js';
import type { EventReader } from './event-reader.js';
import { type EventSettings, planEvents } from './kv-events-sources.js';
import { RehashedRelays } from './rehashed-relays.js';
import { SwitchedRelay } from './switched-relay.js';

/** What the sidecar gives a reader of events. */
export interface EventReaderModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Called with the width of the first event of each rank of an instance. */
  readonly onObserved: (observed: ObservedSize) => void;
  /** Called when the publisher of a rank restarts: its engine may be another start. */
  readonly onPublisherRestart: (rank: number) => void;
  /** Called when the connection to a publisher broke: its engine may have gone. */
  readonly onPublisherDown: () => void;
}

/** What a reader of events gives. */
export interface EventReaderOptions {
  /** Tokens of the canonical blocks that are given in place of the engine's own; absent: its own. */
  readonly rehashTo?: number;
}

/** How KV events are read. */
export interface EventReading {
  readonly settings: EventSettings;
  /** Makes the reader. Asked when there is something to read, for it brings ZeroMQ along. */
  readonly loadReader: (modules: EventReaderModules, options: EventReaderOptions) => Promise<EventReader>;
}

const SWITCHED_OFF = 'KV events are not read here (--kv-event-sources off)';

/** What is read, and of which engine start. */
interface Wanted {
  readonly instanceId: string;
  readonly sources: readonly RankSource[];
}

/**
 * Has the KV events of the engine read that the reports name: which sources,
 * and of which of its starts. An engine that misses a few rounds is read on; its
 * sockets show by themselves when it goes.
 */
export class KvEventsController {
  readonly #reading: EventReading | undefined;
  readonly #modules: EventReaderModules;
  readonly #relay: SwitchedRelay;
  readonly #rehashed: RehashedRelays;
  #wanted: Wanted | undefined;
  #reason: string;
  #instanceId: string;
  #capacityBlocks: number | undefined;
  #reader: EventReader | undefined;
  #loading: Promise<void> | undefined;
  /** Why there can be no reader. */
  #failure: string | undefined;
  #isClosed = false;
  /** Sources that were found to be of another engine, and how. */
  #distrusted: { readonly wanted: string; readonly reason: string } | undefined;

  /**
   * `reading` is undefined when nothing is to be read. `instanceId` stands for
   * the engine before anything was asked.
   */
  constructor(
    options: { readonly reading: EventReading | undefined; readonly instanceId: string },
    modules: EventReaderModules,
  ) {
    this.#reading = options.reading;
    this.#modules = modules;
    this.#instanceId = options.instanceId;
    this.#reason = options.reading === undefined ? SWITCHED_OFF : 'the engine has not been asked yet';
    this.#relay = new SwitchedRelay(
      { instanceId: options.instanceId, reason: this.#reason },
      { makeStreamId: () => modules.random.uniqueId() },
    );
    const { reading } = options;
    const unheard = { onObserved: () => {}, onPublisherRestart: () => {}, onPublisherDown: () => {} };
    this.#rehashed = new RehashedRelays(
      { type: 'nothing', instanceId: options.instanceId, reason: this.#reason },
      {
        ...modules,
        makeStreamId: () => modules.random.uniqueId(),
        // What is learned of the engine by its events, the reader of its own blocks reports.
        loadReader: (rehashTo) =>
          reading === undefined
            ? Promise.reject(new Error(SWITCHED_OFF))
            : reading.loadReader({ ...modules, ...unheard }, { rehashTo }),
      },
    );
  }

  /** What is known of the engine's cache, whether or not anything is read. */
  get relay(): Relay {
    return this.#relay;
  }

  /**
   * Opens a reader of the engine's blocks, of its own size or, with `rehashTo`, re-hashed into larger ones; undefined
   * while too many other sizes are read.
   */
  open(
    rehashTo: number | undefined,
    position: RelayPosition | undefined,
    onReadable: () => void,
  ): RelayReader | undefined {
    return rehashTo === undefined
      ? this.#relay.open(position, onReadable)
      : this.#rehashed.open(rehashTo, position, onReadable);
  }

  /** The reader; undefined before the first source. */
  get reader(): EventReader | undefined {
    return this.#reader;
  }

  /** What is read now. */
  get sources(): readonly RankSource[] {
    return this.#wanted?.sources ?? [];
  }

  /** Why nothing is read; empty when something is. */
  get reason(): string {
    return this.#wanted === undefined ? this.#reason : '';
  }

  /** Takes in what a round found. `state` is the engine's own: a report may say that the sidecar drains. */
  follow(report: CapabilityReport, state: EngineState): void {
    const { instanceId } = report;
    if (this.#isClosed) return;
    if (this.#reading === undefined) {
      this.#readNothing(instanceId, SWITCHED_OFF);
      return;
    }
    const isKnown = this.#wanted?.instanceId === instanceId;
    const isThere = state === EngineState.READY || state === EngineState.UNSPECIFIED;
    if (!isThere) {
      if (!isKnown) this.#readNothing(instanceId, 'the engine is not ready; GetCapabilities says why');
      return;
    }
    const { totalKvBlocks } = report.capacity ?? {};
    this.#capacityBlocks = totalKvBlocks === undefined ? undefined : Number(totalKvBlocks);
    this.#reader?.setCapacity(this.#capacityBlocks);
    const plan = planEvents(this.#reading.settings, report);
    if (plan.type === 'read' && this.#failure !== undefined) this.#readNothing(instanceId, this.#failure);
    else if (plan.type === 'read')
      this.#read({ instanceId, sources: plan.sources }, this.#reading.loadReader);
    else if (plan.type === 'nothing' || !isKnown) this.#readNothing(instanceId, plan.reason);
  }

  /** The sources that are read are another engine's: nothing of them is relayed any more, until the engine or they change. */
  distrust(reason: string): void {
    if (this.#wanted === undefined) return;
    this.#distrusted = { wanted: JSON.stringify(this.#wanted), reason };
    this.#readNothing(this.#wanted.instanceId, reason);
  }

  /** No view of this engine's cache is exact, for this reason; an empty one ends that. */
  setCaveat(reason: string): void {
    this.#relay.setCaveat(reason);
    this.#rehashed.setCaveat(reason);
  }

  /** Ends all reading. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#loading;
    await this.#rehashed.close();
    await this.#reader?.close();
  }

  #read(wanted: Wanted, loadReader: EventReading['loadReader']): void {
    const key = JSON.stringify(wanted);
    if (key === this.#distrusted?.wanted) {
      this.#readNothing(wanted.instanceId, this.#distrusted.reason);
      return;
    }
    const isSame = key === JSON.stringify(this.#wanted);
    this.#wanted = wanted;
    if (isSame) return;
    if (this.#reader !== undefined) this.#apply(this.#reader, wanted);
    else this.#loading ??= this.#load(loadReader);
  }

  #readNothing(instanceId: string, reason: string): void {
    const isSame = this.#wanted === undefined && instanceId === this.#instanceId && reason === this.#reason;
    this.#wanted = undefined;
    this.#instanceId = instanceId;
    this.#reason = reason;
    if (isSame) return;
    this.#relay.fallSilent({ instanceId, reason });
    this.#rehashed.follow({ type: 'nothing', instanceId, reason });
    this.#reader?.setSources([]);
  }

  #apply(reader: EventReader, { instanceId, sources }: Wanted): void {
    reader.setInstance(instanceId);
    reader.setCapacity(this.#capacityBlocks);
    reader.setSources(sources);
    this.#relay.follow(reader);
    this.#rehashed.follow({ type: 'read', instanceId, sources, capacityBlocks: this.#capacityBlocks });
  }

  async #load(loadReader: EventReading['loadReader']): Promise<void> {
    const { logger } = this.#modules;
    try {
      this.#reader = await loadReader(this.#modules, {});
    } catch (error) {
      // Such as a platform that ZeroMQ has no build for: nothing that another attempt would change.
      this.#failure = `KV events cannot be read: ${describeError(error)}`;
      logger.error({ error }, `${this.#failure}.`);
      if (this.#wanted !== undefined) this.#readNothing(this.#wanted.instanceId, this.#failure);
      return;
    }
    if (this.#wanted !== undefined && !this.#isClosed) this.#apply(this.#reader, this.#wanted);
  }
}
