import type { ObservedSize } from '../../core/contract/evidence/observed-size.js';
import { describeSource, isSameSource, type RankSource } from '../../core/relay/rank-source.js';
import type { RankStatus, Relay, RelayPosition, RelayReader } from '../../core/relay/relay.js';
import type { Clock } from '../../edge/platform/clock.js';
import { describeError } from '../../edge/platform/describe-error.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { Random } from '../../edge/platform/random.js';
import { EventCounts } from './cache/event-counts.js';
import type { AppliedBatch, RankCache, RankCacheOptions } from './cache/rank-cache.js';
import type { RankReader, RankReaderListener } from './readers/rank-reader.js';
import { StreamCounts } from './readers/stream-counts.js';
import { type PostJson, TrtllmDrain, type TrtllmDrainOptions } from './readers/trtllm-drain.js';
import { ZmqRankReader, type ZmqRankReaderOptions } from './readers/zmq-rank-reader.js';
import { cutChanges } from './relay/cut-changes.js';
import { RelayLog, type RelayLogOptions } from './relay/relay-log.js';
import { EndpointCheck } from './sockets/endpoint-check.js';
import { loadZmqSockets, type Sockets, type ZmqSocketsOptions } from './sockets/zmq-sockets.js';

export interface EngineEventReaderOptions
  extends ZmqRankReaderOptions,
    RelayLogOptions,
    ZmqSocketsOptions,
    TrtllmDrainOptions,
    RankCacheOptions {}

export interface EngineEventReaderModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The first main-attention device store of this instance on a rank, and every later one of another width or unit. */
  readonly onObserved: (observed: ObservedSize) => void;
  /** The publisher was restarted (its sequence went back): the engine itself probably was. */
  readonly onPublisherRestart: (rank: number) => void;
  /** The connection to a publisher broke: the engine may have gone. Default: no notice. */
  readonly onPublisherDown?: () => void;
  /** Needed for sources of the kind `trtllm-drain`. */
  readonly postJson?: PostJson;
  /** Default: ZeroMQ, loaded when the first source is set. */
  readonly sockets?: Sockets;
}

/** What is loaded when the first source is set. */
interface Loaded {
  readonly makeCache: () => RankCache;
  readonly sockets: Sockets;
}

interface Running {
  readonly source: RankSource;
  readonly reader: RankReader;
  readonly cache: RankCache;
}

/**
 * One engine's live events, all ranks, as a relay for any number of readers.
 * It costs next to nothing until its first source is set: ZeroMQ and the
 * hashing kernel are loaded then.
 */
export class EngineEventReader implements Relay {
  readonly counts: EventCounts = new EventCounts();
  readonly streamCounts: StreamCounts = new StreamCounts();
  readonly #options: EngineEventReaderOptions;
  readonly #modules: EngineEventReaderModules;
  readonly #log: RelayLog;
  readonly #check: EndpointCheck;
  readonly #running = new Map<number, Running>();
  /** What readers were last sent of each rank, without what changes with every batch. */
  readonly #sent = new Map<number, string>();
  /** The block size that was last reported of each rank. */
  readonly #observed = new Map<number, string>();
  #wanted: readonly RankSource[] = [];
  #instanceId = '';
  #capacityBlocks: number | undefined;
  #loading: Promise<Loaded> | undefined;
  #arranging: Promise<void> = Promise.resolve();
  #turn: Promise<unknown> = Promise.resolve();
  #problem = '';
  #isClosed = false;

  constructor(options: EngineEventReaderOptions, modules: EngineEventReaderModules) {
    this.#options = options;
    this.#modules = modules;
    this.#check = new EndpointCheck({
      clock: modules.clock,
      logger: modules.logger,
      isWell: (rank) => this.#running.get(rank)?.reader.status.picture === 'exact',
    });
    this.#log = new RelayLog(
      options,
      {
        ranks: () => this.ranks,
        snapshot: (rank) => this.#running.get(rank)?.cache.snapshot(),
      },
      modules,
    );
  }

  /**
   * The engine start that is running, as in the capability report. Another one
   * than before drops the caches and replays from 0, unless a restart of the
   * publisher has done so already.
   */
  setInstance(instanceId: string): void {
    if (instanceId === this.#instanceId || this.#isClosed) return;
    const isFirst = this.#instanceId === '';
    const { streamId } = this.#log;
    this.#instanceId = instanceId;
    this.#log.name(instanceId);
    for (const { reader, source } of isFirst ? [] : this.#running.values()) {
      if (reader.hasRestarted) {
        reader.acceptInstance();
        continue;
      }
      this.#observed.delete(source.rank);
      reader.startOver('the engine was restarted');
    }
    // A restart has sent the name already.
    if (this.#log.streamId === streamId) this.#log.sendName();
  }

  /** Idempotent; may be called with the same list at every probe round. The first source of a rank counts. */
  setSources(sources: readonly RankSource[]): void {
    if (this.#isClosed) return;
    const byRank = new Map<number, RankSource>();
    for (const source of sources) if (!byRank.has(source.rank)) byRank.set(source.rank, source);
    const wanted = [...byRank.values()].sort((one, other) => one.rank - other.rank);
    const isSame =
      wanted.length === this.#wanted.length &&
      wanted.every((source, at) => isSameSource(source, this.#wanted[at] as RankSource));
    if (isSame) return;
    this.#wanted = wanted;
    // Sockets that a test gives are at no address; where blocks are re-hashed, the reader of the own ones looks.
    if (this.#modules.sockets === undefined && this.#options.rehashTo === undefined)
      this.#check.watch(wanted);
    this.#arranging = this.#arranging.then(() => this.#arrange());
  }

  /** Blocks that fit on the device of each rank at most; undefined when it is not known. See `RankCache.setCapacity`. */
  setCapacity(blocks: number | undefined): void {
    this.#capacityBlocks = blocks;
    for (const { cache } of this.#running.values()) cache.setCapacity(blocks);
  }

  get ranks(): readonly RankStatus[] {
    return this.#wanted.map(({ rank }) => {
      const status = this.#running.get(rank)?.reader.status ?? {
        rank,
        picture: 'none',
        reason: this.#problem === '' ? 'its events are not read yet' : this.#problem,
        blockCount: 0,
      };
      // Why an endpoint is silent says more than that it is.
      const finding = this.#check.findingOf(rank);
      return finding === undefined ? status : { ...status, reason: finding };
    });
  }

  open(position: RelayPosition | undefined, onReadable: () => void): RelayReader {
    return this.#log.open(position, onReadable);
  }

  /** Closes every socket. Readers get nothing more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wanted = [];
    await this.#check.close();
    await this.#arranging;
    await Promise.all([...this.#running.values()].map(({ reader }) => reader.close()));
    this.#running.clear();
  }

  /** Closes what is not wanted any more and starts what is new. Never rejects. */
  async #arrange(): Promise<void> {
    const wanted = this.#wanted;
    const old = [...this.#running.values()].filter(
      ({ source }) => !wanted.some((other) => isSameSource(source, other)),
    );
    await Promise.all(old.map(({ reader }) => reader.close()));
    for (const { source } of old) {
      this.#running.delete(source.rank);
      this.#sent.delete(source.rank);
      this.#observed.delete(source.rank);
    }
    if (old.length > 0) this.#log.reset('the engine publishes its events elsewhere now');
    if (this.#isClosed || wanted.length === 0) return;
    try {
      this.#loading ??= this.#load();
      const loaded = await this.#loading;
      for (const source of wanted) {
        if (!this.#isClosed && !this.#running.has(source.rank)) this.#run(source, loaded);
      }
    } catch (error) {
      this.#loading = undefined;
      this.#problem = `KV events cannot be read on this machine: ${describeError(error)}`;
      this.#modules.logger.error({ error }, 'KV events cannot be read on this machine.');
    }
  }

  async #load(): Promise<Loaded> {
    const [{ RankCache }, { BlockHasher }, sockets] = await Promise.all([
      import('./cache/rank-cache.js'),
      import('../../core/blocks/block-hasher.js'),
      this.#modules.sockets ?? loadZmqSockets(this.#options, this.#modules),
    ]);
    const hasher = new BlockHasher();
    const canonicalHasher = this.#options.rehashTo === undefined ? undefined : new BlockHasher();
    return {
      sockets,
      makeCache: () => new RankCache(this.#options, { hasher, canonicalHasher, counts: this.counts }),
    };
  }

  #run(source: RankSource, loaded: Loaded): void {
    const { clock, logger, postJson } = this.#modules;
    const cache = loaded.makeCache();
    cache.setCapacity(this.#capacityBlocks);
    const common = { clock, logger, cache, counts: this.streamCounts, listener: this.#listenerOf(source) };
    const reader: RankReader =
      source.kind === 'trtllm-drain'
        ? new TrtllmDrain(source, this.#options, { ...common, postJson })
        : new ZmqRankReader(source, this.#options, {
            ...common,
            sockets: loaded.sockets,
            inTurn: this.#inTurn,
          });
    this.#running.set(source.rank, { source, reader, cache });
    this.#sendStatus(source.rank);
    reader.start();
  }

  #listenerOf(source: RankSource): RankReaderListener {
    const { rank } = source;
    return {
      onApplied: (applied) => this.#onApplied(source, applied),
      onDropped: (reason) => {
        this.#sent.set(rank, this.#describe(rank));
        this.#log.reset(`rank ${rank}: ${reason}`);
      },
      onStatus: () => this.#sendStatus(rank),
      onPublisherRestart: () => {
        this.#observed.delete(rank);
        this.#modules.onPublisherRestart(rank);
      },
      onPublisherDown: () => this.#modules.onPublisherDown?.(),
    };
  }

  #onApplied(source: RankSource, applied: AppliedBatch): void {
    const { rank } = source;
    // What a change of another group means, readers must know before it.
    if (applied.hasNewGroups === true) this.#sendStatus(rank);
    const parts = cutChanges(applied.changes);
    for (const [at, part] of parts.entries()) {
      // Its place in a cache view is complete with the last part.
      this.#log.changes(rank, part, at === parts.length - 1 ? applied.publishedAtMs : undefined);
    }
    const { observed } = applied;
    if (observed === undefined) return;
    const key = `${observed.tokensPerBlock} ${observed.unit} ${JSON.stringify(observed.groups ?? [])}`;
    if (this.#observed.get(rank) === key) return;
    this.#observed.set(rank, key);
    this.#modules.onObserved({
      ...observed,
      rank,
      origin: describeSource(source),
      observedAtMs: this.#modules.clock.wallMs(),
    });
  }

  #sendStatus(rank: number): void {
    const described = this.#describe(rank);
    if (this.#sent.get(rank) === described) return;
    this.#sent.set(rank, described);
    const status = this.#running.get(rank)?.reader.status;
    if (status !== undefined) this.#log.rankState(status);
  }

  /** What of a rank's status readers get when it changes: not its counts. */
  #describe(rank: number): string {
    const status = this.#running.get(rank)?.reader.status;
    const groups = JSON.stringify(status?.cacheGroups ?? []);
    return `${status?.picture} ${status?.unknownBeforeSequence} ${groups} ${status?.reason}`;
  }

  /** One replay at a time: it takes the engine's publisher from its work. */
  readonly #inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = this.#turn.then(work);
    // The caller gets the error; the next one only waits for its turn.
    this.#turn = turn.catch(() => {});
    return turn;
  };
}
