import type { Registry } from 'prom-client';
import type { AgreementEffect } from '../../core/agreement/state/events.js';
import type { FleetView } from '../../core/agreement/view/snapshot.js';
import type { HashUnitName } from '../../core/blocks/block-hasher.js';
import { PrefixIndexError } from '../../core/blocks/prefix-index.js';
import type { ContractValues } from '../../core/contract/contract-values.js';
import type { DiscoveredWorker } from '../../core/contract/evidence/discovered-worker.js';
import { knownHashUnit } from '../../core/contract/wire/names.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import { ConnectGate } from '../../edge/platform/net/connect-gate.js';
import type { Random } from '../../edge/platform/random.js';
import { SilenceWatch } from '../../edge/platform/streams/silence-watch.js';
import { StreamRefusals } from '../../edge/platform/streams/stream-refusals.js';
import type { EventLoop } from '../../edge/platform/time/event-loop.js';
import type { RpcChannel } from '../../edge/rpc/channel.js';
import type { RpcEdge } from '../../edge/rpc/handlers.js';
import type { CapabilityReport } from '../../gen/kvaccord/v1/capabilities.js';
import { IndexerService } from '../../gen/kvaccord/v1/indexer.js';
import { ApproximateIndex, type ApproximateOptions } from './groups/approximate-index.js';
import { type EpochContract, EpochIndex, type IndexListener } from './groups/epoch-index.js';
import type { GroupIndex } from './groups/group-index.js';
import { type QueuedTask, WorkQueue } from './groups/work-queue.js';
import type { IndexDirectory } from './index/asked-index.js';
import { IndexTally } from './index/index-tally.js';
import { IndexMetrics } from './index-metrics.js';
import { createIndexerService } from './indexer-service.js';
import type { CreateEngineReader, DirectWorkerOptions } from './relays/direct-worker.js';
import { DirectWorkers } from './relays/direct-workers.js';
import type { RelaySource } from './relays/relay-source.js';
import { SidecarRelaySource } from './relays/sidecar-relay-source.js';

/**
 * Snapshots that come in at a time: each may be read up to a megabyte ahead, so
 * that a fleet of thousands that all began together would fill the memory, and
 * none would be through any sooner.
 */
const MAX_SNAPSHOTS = 32;

/** How long one that does not come on may keep the others waiting. */
const MAX_HOLD_MS = 5_000;

/** The agreement as the index needs it; `FleetRunner` is one. */
export interface IndexedFleet extends IndexListener {
  readonly view: FleetView;
  /** A member's last report; undefined before the first. */
  reportOf(target: string): CapabilityReport | undefined;
  /** A member's report; false when it was not taken, because the member is not listed. */
  reported(target: string, report: CapabilityReport): boolean;
}

export interface FleetIndexingOptions {
  /** Bound of each group's index in memory; default as `PrefixIndex` has it. */
  readonly maxBytes?: number;
  /** Learns from routing decisions in place of KV events; by default it learns from KV events. */
  readonly approximate?: ApproximateOptions;
  /** Engines that are read here because they have no sidecar. Default none. */
  readonly directWorkers?: readonly DirectWorkerOptions[];
}

export interface FleetIndexingModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly turns: EventLoop;
  readonly registry: Registry;
  readonly fleet: IndexedFleet;
  readonly edge: RpcEdge;
  readonly logger: Logger;
  /** Needed where there are direct workers. */
  readonly createEngineReader?: CreateEngineReader;
}

/**
 * The index of a fleet: one for each group whose gate is open, made at the
 * beginning of its epoch and dropped at its end (G2), and what keeps it at what
 * the workers report.
 */
export class FleetIndexing implements IndexDirectory {
  readonly services: readonly {
    readonly definition: typeof IndexerService;
    readonly implementation: ReturnType<typeof createIndexerService>;
  }[];
  readonly targets: readonly string[];
  readonly #options: FleetIndexingOptions;
  readonly #modules: FleetIndexingModules;
  readonly #queue: WorkQueue;
  readonly #silence: SilenceWatch;
  readonly #gate: ConnectGate;
  readonly #metrics: IndexMetrics;
  readonly #refusals: StreamRefusals;
  readonly #indexes = new Map<string, GroupIndex>();
  /** Outlive epochs: counters of a group only grow as long as it is there. */
  readonly #tallies = new Map<string, IndexTally>();
  /** The ways to workers' events. */
  readonly #sources = new Map<string, RelaySource>();
  readonly #direct: DirectWorkers;
  readonly #reporting: QueuedTask = { step: () => this.#direct.reportOne() };

  constructor(options: FleetIndexingOptions, modules: FleetIndexingModules) {
    this.#options = options;
    const { clock, turns, registry, edge, fleet } = modules;
    this.#modules = modules;
    this.#refusals = new StreamRefusals(modules);
    this.#queue = new WorkQueue({ clock, turns, refusals: this.#refusals });
    this.#silence = new SilenceWatch({ clock });
    this.#gate = new ConnectGate({ maxConnecting: MAX_SNAPSHOTS, maxHoldMs: MAX_HOLD_MS }, { clock });
    this.#metrics = new IndexMetrics(registry, {
      indexes: this.#indexes,
      tallies: this.#tallies,
      refusals: this.#refusals,
    });
    this.#direct = new DirectWorkers(options.directWorkers ?? [], {
      ...modules,
      createEngineReader: modules.createEngineReader ?? noEngineReaders,
      reported: (target, report) => fleet.reported(target, report),
      onNews: () => this.#queue.add(this.#reporting),
    });
    this.targets = this.#direct.targets;
    this.services = [
      {
        definition: IndexerService,
        implementation: createIndexerService({ edge, indexes: this, view: () => fleet.view }),
      },
    ];
  }

  of(group: string): GroupIndex | undefined {
    return this.#indexes.get(group);
  }

  start(): void {
    for (const { target, source } of this.#direct.all) this.#sources.set(target, source);
    this.#direct.start();
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
        for (const epoch of this.#indexes.values()) epoch.forget(effect.target, effect.instanceId);
        return;
      case 'group_ended':
        this.#end(effect.group);
        this.#tallies.delete(effect.group);
        return;
      default:
    }
  }

  onView(view: FleetView): void {
    // A report is taken only of who is listed, and that shows here.
    if (this.#direct.hasNews) this.#queue.add(this.#reporting);
    for (const { group, epoch, members } of view.groups) {
      const index = this.#indexes.get(group);
      if (index?.epoch === epoch) index.setMembers(members);
    }
  }

  onDiscovered(target: string, discovered: DiscoveredWorker | undefined): void {
    this.#direct.onDiscovered(target, discovered);
  }

  onConnected(target: string, channel: RpcChannel): void {
    this.#setSource(target, new SidecarRelaySource({ channel, silence: this.#silence }));
  }

  onDisconnected(target: string): void {
    this.#setSource(target, undefined);
  }

  async close(): Promise<void> {
    for (const group of [...this.#indexes.keys()]) this.#end(group);
    this.#queue.close();
    await this.#direct.close();
  }

  #setSource(target: string, source: RelaySource | undefined): void {
    if (source === undefined) this.#sources.delete(target);
    else this.#sources.set(target, source);
    for (const epoch of this.#indexes.values()) epoch.setSource(target, source);
  }

  #begin(group: string, epoch: number, values: ContractValues): void {
    this.#end(group);
    const tally = this.#tallies.get(group) ?? new IndexTally();
    this.#tallies.set(group, tally);
    const unit = values.hash_unit;
    const hashUnit: HashUnitName | undefined = unit === 'bigram' || unit === 'token' ? unit : undefined;
    const contract: EpochContract = { epoch, tokensPerBlock: Number(values.tokens_per_block), hashUnit };
    try {
      this.#indexes.set(group, this.#createIndex(contract, tally));
    } catch (error) {
      if (!(error instanceof PrefixIndexError)) throw error;
      // The gate opens all the same: others may route by load, and every cache view stays unknown.
      this.#modules.logger.error(
        { group, epoch },
        `"${group}" has no index in this epoch, and its requests are not routed here: ${error.message}.`,
      );
    }
  }

  #createIndex(contract: EpochContract, tally: IndexTally): GroupIndex {
    const { clock, random, fleet } = this.#modules;
    const { approximate, maxBytes } = this.#options;
    const queue = this.#queue;
    if (approximate !== undefined) {
      return new ApproximateIndex(
        { ...contract, hashUnit: contract.hashUnit ?? 'token', ...approximate },
        { clock, queue },
      );
    }
    return new EpochIndex(maxBytes === undefined ? contract : { ...contract, maxBytes }, {
      clock,
      random,
      tally,
      refusals: this.#refusals,
      queue,
      gate: this.#gate,
      listener: fleet,
      sourceOf: (target) => this.#sources.get(target),
      hashUnitOf: (target) => knownHashUnit(fleet.reportOf(target)?.contract?.hashUnit),
      contractOf: (target) => fleet.reportOf(target)?.contract,
      onLag: (lagMs) => this.#metrics.observeLag(lagMs),
    });
  }

  #end(group: string): void {
    this.#indexes.get(group)?.close();
    this.#indexes.delete(group);
  }
}

function noEngineReaders(): never {
  throw new Error('nothing reads the events of engines here');
}
