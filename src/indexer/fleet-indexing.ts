import type { Registry } from 'prom-client';
import type { AgreementEffect } from '../agreement/events.js';
import type { FleetView } from '../agreement/snapshot.js';
import type { ContractValues } from '../contract/contract-values.js';
import { IndexerService } from '../gen/kvaccord/v1/indexer.js';
import type { Clock } from '../platform/clock.js';
import type { Random } from '../platform/random.js';
import { SilenceWatch } from '../platform/silence-watch.js';
import type { Turns } from '../platform/turns.js';
import type { RpcChannel } from '../rpc/channel.js';
import type { RpcEdge } from '../rpc/handlers.js';
import type { AskedIndex, IndexDirectory } from './asked-index.js';
import { EpochIndex, type IndexListener } from './epoch-index.js';
import type { Feed } from './feed.js';
import { IndexMetrics } from './index-metrics.js';
import { IndexTally } from './index-tally.js';
import { createIndexerService } from './indexer-service.js';
import { Intake } from './intake.js';
import { SidecarFeed } from './sidecar-feed.js';

/** The agreement as the index needs it; `FleetRunner` is one. */
export interface IndexedFleet extends IndexListener {
  readonly view: FleetView;
}

export interface FleetIndexingOptions {
  /** Bound of each group's index in memory; default that of `PrefixIndex`. */
  readonly maxBytes?: number;
}

export interface FleetIndexingModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly turns: Turns;
  readonly registry: Registry;
  readonly fleet: IndexedFleet;
  readonly edge: RpcEdge;
}

/**
 * The index of a fleet: one for each group whose gate is open, made at the
 * beginning of its epoch and dropped at its end (G2), and what keeps it at what
 * the workers tell.
 */
export class FleetIndexing implements IndexDirectory {
  readonly services: readonly {
    readonly definition: typeof IndexerService;
    readonly implementation: ReturnType<typeof createIndexerService>;
  }[];
  readonly targets: readonly string[] = [];
  readonly #options: FleetIndexingOptions;
  readonly #modules: FleetIndexingModules;
  readonly #intake: Intake;
  readonly #silence: SilenceWatch;
  readonly #metrics: IndexMetrics;
  readonly #epochs = new Map<string, EpochIndex>();
  /** Outlive epochs: counters of a group only grow as long as it is there. */
  readonly #tallies = new Map<string, IndexTally>();
  /** The ways to workers' events. */
  readonly #feeds = new Map<string, Feed>();

  constructor(options: FleetIndexingOptions, modules: FleetIndexingModules) {
    this.#options = options;
    const { clock, turns, registry, edge, fleet } = modules;
    this.#modules = modules;
    this.#intake = new Intake({ clock, turns });
    this.#silence = new SilenceWatch({ clock });
    this.#metrics = new IndexMetrics(registry, { epochs: this.#epochs, tallies: this.#tallies });
    this.services = [
      {
        definition: IndexerService,
        implementation: createIndexerService({ edge, indexes: this, view: () => fleet.view }),
      },
    ];
  }

  of(group: string): AskedIndex | undefined {
    return this.#epochs.get(group);
  }

  start(): void {
    // Everything begins with the first epoch.
  }

  onEffect(effect: AgreementEffect): void {
    switch (effect.type) {
      case 'epoch_started':
        this.#begin(effect.group, effect.epoch, effect.values);
        return;
      case 'epoch_ended':
        this.#end(effect.group);
        return;
      case 'forget_instance':
        for (const epoch of this.#epochs.values()) epoch.forget(effect.target, effect.instanceId);
        return;
      case 'group_ended':
        this.#end(effect.group);
        this.#tallies.delete(effect.group);
        return;
      default:
    }
  }

  onView(view: FleetView): void {
    for (const { group, epoch, members } of view.groups) {
      const index = this.#epochs.get(group);
      if (index?.epoch === epoch) index.setMembers(members);
    }
  }

  onConnected(target: string, channel: RpcChannel): void {
    this.#setFeed(target, new SidecarFeed({ channel, silence: this.#silence }));
  }

  onDisconnected(target: string): void {
    this.#setFeed(target, undefined);
  }

  close(): Promise<void> {
    for (const group of [...this.#epochs.keys()]) this.#end(group);
    this.#intake.close();
    return Promise.resolve();
  }

  #setFeed(target: string, feed: Feed | undefined): void {
    if (feed === undefined) this.#feeds.delete(target);
    else this.#feeds.set(target, feed);
    for (const epoch of this.#epochs.values()) epoch.setFeed(target, feed);
  }

  #begin(group: string, epoch: number, values: ContractValues): void {
    const { clock, random, fleet } = this.#modules;
    this.#end(group);
    const tally = this.#tallies.get(group) ?? new IndexTally();
    this.#tallies.set(group, tally);
    const index = new EpochIndex(
      {
        ...this.#options,
        epoch,
        tokensPerBlock: Number(values.tokens_per_block),
        hashUnit: values.hash_unit === 'bigram' ? 'bigram' : 'token',
      },
      {
        clock,
        random,
        tally,
        intake: this.#intake,
        listener: fleet,
        feedOf: (target) => this.#feeds.get(target),
        onLag: (lagMs) => this.#metrics.observeLag(lagMs),
      },
    );
    this.#epochs.set(group, index);
  }

  #end(group: string): void {
    this.#epochs.get(group)?.close();
    this.#epochs.delete(group);
  }
}
