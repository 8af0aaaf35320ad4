import type { MemberView } from '../../../src/core/agreement/view/snapshot.js';
import type { Timer } from '../../../src/edge/platform/clock.js';
import { ConnectGate } from '../../../src/edge/platform/net/connect-gate.js';
import type { Random } from '../../../src/edge/platform/random.js';
import type { EventLoop } from '../../../src/edge/platform/time/event-loop.js';
import { EpochIndex } from '../../../src/fleet/indexer/groups/epoch-index.js';
import { WorkQueue } from '../../../src/fleet/indexer/groups/work-queue.js';
import { IndexTally } from '../../../src/fleet/indexer/index/index-tally.js';
import {
  EngineEventReader,
  type EngineEventReaderOptions,
} from '../../../src/worker/kv-events/engine-event-reader.js';
import { askedPrompt } from '../../support/asked-prompt.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { strictRefusals } from '../../support/strict-refusals.js';
import { turns } from '../../support/turns.js';
import {
  type ChainBlock,
  type ChainBlocks,
  NAMESPACES,
  packedHashes,
  TOKENS_PER_BLOCK,
} from './kv-chain-blocks.js';
import { type Credits, creditsOf, leadingBlocks } from './kv-chain-credits.js';
import { type CacheStep, type EngineStyle, type Moment, RankEngine } from './kv-chain-engine.js';
import { Ledger } from './kv-chain-ledger.js';
import { type Fate, RankPort, type ReplayMode, socketsTo } from './kv-chain-ports.js';
import { ChainStream, ReadPlaces } from './kv-chain-stream.js';

/** What says that nothing is credited that is not held. */
const PROMISES: ReadonlySet<string | undefined> = new Set(['exact', 'partial']);

/** How one rank of a worker is made. */
export interface RankSketch {
  readonly style: EngineStyle;
  readonly hasReplay: boolean;
  readonly keptBatches: number;
  readonly hasTopicFrame: boolean;
  /** The sidecar binds, and publishers connect to it. */
  readonly binds: boolean;
}

export interface WorkerSketch {
  readonly ranks: readonly RankSketch[];
  readonly eventReader: EngineEventReaderOptions;
}

/** One engine with all its ranks, the sidecar beside it, and what the fleet knows of both. */
class ChainWorker {
  readonly target: string;
  readonly engines: readonly RankEngine[];
  readonly ports: readonly RankPort[];
  readonly sketch: WorkerSketch;
  /** The start that the engine itself is in. */
  engineStart: number = 0;
  /** What the sidecar has last seen and reports. */
  instanceId = 'i-0';
  isListed = true;
  isConnected = false;
  reads: ReadPlaces = new ReadPlaces();
  eventReader!: EngineEventReader;
  ledger!: Ledger;
  stream!: ChainStream;

  constructor(target: string, sketch: WorkerSketch, blocks: ChainBlocks) {
    this.target = target;
    this.sketch = sketch;
    this.engines = sketch.ranks.map(({ style }) => new RankEngine(style, blocks));
    this.ports = sketch.ranks.map(
      ({ binds, hasReplay, keptBatches, hasTopicFrame }, rank) =>
        new RankPort(
          {
            source: {
              rank,
              endpoint: `${binds ? '@' : ''}tcp://${target}:${5_557 + rank}`,
              topic: '',
              ...(hasReplay ? { replayEndpoint: `tcp://${target}:${6_557 + rank}` } : {}),
            },
            keptBatches,
            hasTopicFrame,
          },
          () => (this.engines[rank] as RankEngine).payloads,
        ),
    );
  }
}

/** The same draws in every run of a story. */
function countingRandom(): Random {
  let ids = 0;
  return {
    fraction: () => 0.5,
    uniqueId: () => {
      ids += 1;
      return String(ids);
    },
  };
}

/** Turns of the event loop that come when a test takes them. */
class ManualEventLoop implements EventLoop {
  readonly #due = new Set<() => void>();

  soon(run: () => void): Timer {
    this.#due.add(run);
    return { clear: () => this.#due.delete(run) };
  }

  /** Takes turns until none is due. */
  take(): void {
    for (const run of this.#due) {
      this.#due.delete(run);
      run();
    }
  }
}

/** A fleet from its engines' caches to the index, in one process and on a clock of its own. */
export class ChainWorld {
  readonly clock: FakeClock = new FakeClock();
  readonly workers: readonly ChainWorker[];
  readonly #random = countingRandom();
  readonly #turns = new ManualEventLoop();
  readonly #tally = new IndexTally();
  /** The instance that the agreement knows, by worker. */
  readonly #reported = new Map<string, string>();
  readonly #queue = new WorkQueue({ clock: this.clock, turns: this.#turns, refusals: strictRefusals() });
  #epoch = 0;
  #index!: EpochIndex;

  private constructor(sketches: readonly WorkerSketch[], blocks: ChainBlocks) {
    this.workers = sketches.map((sketch, at) => new ChainWorker(`w-${at}`, sketch, blocks));
  }

  static async start(sketches: readonly WorkerSketch[], blocks: ChainBlocks): Promise<ChainWorld> {
    const world = new ChainWorld(sketches, blocks);
    world.#beginEpoch();
    for (const worker of world.workers) {
      await world.#startSidecar(worker);
      for (const port of worker.ports) port.link();
      world.connect(worker);
    }
    await turns();
    return world;
  }

  async close(): Promise<void> {
    this.#index.close();
    this.#queue.close();
    for (const { eventReader } of this.workers) await eventReader.close();
  }

  async settle(): Promise<void> {
    await turns();
  }

  async advance(ms: number): Promise<void> {
    const stepMs = 1_000;
    for (let left = ms; left > 0; left -= stepMs) {
      await turns();
      await this.clock.advanceMs(Math.min(stepMs, left));
    }
    await turns();
  }

  publish(worker: ChainWorker, rank: number, steps: readonly CacheStep[], fate: Fate): void {
    const engine = worker.engines[rank] as RankEngine;
    engine.publish(steps);
    // Nobody but a replay socket can tell a batch that comes late from one of another start.
    const canBeLate = worker.sketch.ranks[rank]?.hasReplay === true;
    worker.ports[rank]?.send(engine.payloads.length - 1, fate === 'is_late' && !canBeLate ? 'arrives' : fate);
  }

  setReplay(worker: ChainWorker, mode: ReplayMode): void {
    for (const port of worker.ports) port.replay = mode;
  }

  /**
   * What the engine said last has been read before the next one says
   * something: a batch that waits for a replay meanwhile is known for what it
   * is only when the next one gives its number to another.
   */
  async restartEngine(worker: ChainWorker): Promise<void> {
    for (const port of worker.ports) port.release();
    await turns();
    const modes = worker.ports.map(({ replay }) => replay);
    for (let waitedMs = 0; worker.ports.some(({ isAsked }) => isAsked); waitedMs += 500) {
      // Two ranks that are never answered ask in turns, without end.
      if (waitedMs >= 10_000) this.setReplay(worker, 'answers');
      await this.advance(500);
    }
    for (const [rank, port] of worker.ports.entries()) port.replay = modes[rank] ?? port.replay;
    worker.engineStart += 1;
    for (const port of worker.ports) port.unlink();
    for (const engine of worker.engines) engine.restart();
  }

  async restartSidecar(worker: ChainWorker): Promise<void> {
    this.disconnect(worker);
    await worker.eventReader.close();
    await this.#startSidecar(worker);
  }

  /** The sidecar looks which start its engine is in. */
  probe(worker: ChainWorker): void {
    worker.instanceId = `i-${worker.engineStart}`;
    worker.eventReader.setInstance(worker.instanceId);
  }

  /** The agreement learns what the sidecars have to report. */
  report(): void {
    for (const { target, instanceId } of this.workers) {
      const known = this.#reported.get(target);
      if (known !== undefined && known !== instanceId) this.#index.forget(target, known);
      this.#reported.set(target, instanceId);
    }
    this.#setMembers();
  }

  connect(worker: ChainWorker): void {
    if (worker.isConnected) return;
    worker.isConnected = true;
    this.#index.setSource(worker.target, worker.stream);
  }

  disconnect(worker: ChainWorker): void {
    if (!worker.isConnected) return;
    worker.isConnected = false;
    this.#index.setSource(worker.target, undefined);
  }

  setListed(worker: ChainWorker, isListed: boolean): void {
    if (worker.isListed === isListed) return;
    worker.isListed = isListed;
    worker.reads = new ReadPlaces();
    this.#setMembers();
  }

  renewIndex(): void {
    this.#index.close();
    this.#beginEpoch();
  }

  /** The index takes what has come. */
  takeTurns(): void {
    this.#turns.take();
  }

  /** What must hold at every moment; the problems, if there are any. */
  problems(prompts: readonly (readonly ChainBlock[])[]): string[] {
    const credits = creditsOf(this.#index);
    return [
      ...this.workers.flatMap(({ ledger, target }) =>
        ledger.problems.map((problem) => `${target}, ${problem}`),
      ),
      ...this.workers.flatMap((worker) =>
        worker.engines.flatMap((_, rank) => this.#problemsOf(worker, rank, credits)),
      ),
      ...this.#wrongAnswers(prompts, credits),
    ];
  }

  /** What must hold when all was delivered and all replays are done. */
  finalProblems(prompts: readonly (readonly ChainBlock[])[]): string[] {
    const problems = this.problems(prompts);
    const credits = creditsOf(this.#index);
    for (const worker of this.workers) {
      for (const [rank, engine] of worker.engines.entries()) {
        const name = `${worker.target}/${rank}`;
        const cacheView = this.#index.cacheViewOfRank(worker.target, rank);
        const credited = credits.get(name) ?? new Set();
        const extra = [...credited].filter((block) => !engine.held.has(block));
        const missing = [...engine.held].filter((block) => !credited.has(block));
        if (extra.length > 0) problems.push(`${name} (${cacheView}) is credited with ${extra.join(', ')}`);
        if (cacheView === 'exact' && missing.length > 0)
          problems.push(`${name} is exact and lacks ${missing.join(', ')}`);
        const port = worker.ports[rank] as RankPort;
        const canBeExact =
          port.source.replayEndpoint !== undefined &&
          port.replay === 'answers' &&
          port.keptBatches >= engine.payloads.length &&
          (worker.sketch.eventReader.maxNamespaces ?? Number.POSITIVE_INFINITY) >= NAMESPACES.length;
        if (canBeExact && cacheView !== 'exact')
          problems.push(`${name} is ${cacheView}: ${this.#why(worker, rank)}`);
      }
    }
    return problems;
  }

  #why(worker: ChainWorker, rank: number): string {
    const status = worker.eventReader.ranks[rank];
    return `${this.#index.followerStates.join()}; the reader says ${status?.picture} ${status?.reason}`;
  }

  /** Every block that is credited was held at the place to which the index has read, or since its snapshot began. */
  #problemsOf(worker: ChainWorker, rank: number, credits: Credits): string[] {
    const name = `${worker.target}/${rank}`;
    const credited = credits.get(name) ?? new Set<string>();
    const { timeline } = worker.engines[rank] as RankEngine;
    const { at, unverified, seenTo } = worker.reads.of(rank);
    const moments = unverified.map((place) => timeline[place] as Moment);
    if (at !== undefined) moments.push(...timeline.slice(at, Math.max(at, seenTo ?? at) + 1));
    const problems = [...credited]
      .filter((block) => !moments.some(({ held }) => held.has(block)))
      .map((block) => `${name} is credited with ${block}, which it did not hold (place ${at} to ${seenTo})`);
    // What the agreement knows to be over is held on by nobody.
    const start = at === undefined ? undefined : timeline[at]?.start;
    const reported = Number(this.#reported.get(worker.target)?.slice(2));
    if (credited.size > 0 && start !== undefined && start < reported)
      problems.push(`${name} is credited with blocks of start ${start}, and start ${reported} was reported`);
    const cacheView = this.#index.cacheViewOfRank(worker.target, rank);
    const isPromise = PROMISES.has(cacheView);
    if (isPromise && credited.size > 0 && !worker.isConnected)
      problems.push(`${name} is ${cacheView} while its sidecar is lost`);
    if (isPromise && unverified.length > 0 && this.#isCaughtUp(worker))
      problems.push(`${name} is ${cacheView} and may hold blocks of an engine start before`);
    const status = worker.eventReader.ranks[rank];
    if (status?.blockCount !== 0 && PROMISES.has(status?.picture) && worker.ports[rank]?.isUp === false)
      problems.push(`${name} is reported as ${status?.picture} while the connection to its events is broken`);
    if (cacheView === 'none' && credited.size > 0 && !worker.stream.isUnderWay)
      problems.push(`${name} is none and holds ${credited.size}`);
    if (this.#isCaughtUp(worker) && unverified.length === 0) {
      const eventReaderAt = worker.ledger.placeOf(rank).at;
      const truth =
        eventReaderAt === undefined ? new Set<string>() : (timeline[eventReaderAt] as Moment).held;
      const missing = [...truth].filter((block) => !credited.has(block));
      if (cacheView === 'exact' && missing.length > 0)
        problems.push(`${name} is exact at place ${eventReaderAt} and lacks ${missing.join(', ')}`);
    }
    return problems;
  }

  #isCaughtUp({ stream, isConnected, isListed }: ChainWorker): boolean {
    return isConnected && isListed && stream.isDrained;
  }

  /** `find` says for each prompt what the scan of the same index says block by block. */
  #wrongAnswers(prompts: readonly (readonly ChainBlock[])[], credits: Credits): string[] {
    return prompts.flatMap((prompt) => {
      const expected = new Map<string, string>();
      const hashes = prompt.map(({ sequenceHash }) => sequenceHash);
      for (const [name, credited] of credits) {
        const depths = leadingBlocks(credited, hashes);
        if ((depths.at(-1) ?? 0) > 0) expected.set(name, depths.join());
      }
      const found = this.#index.find(askedPrompt(packedHashes(prompt)));
      const wrong = found.filter(
        ({ target, rank, blocks }) => expected.get(`${target}/${rank}`) !== blocks.join(),
      );
      return [
        ...wrong.map(({ target, rank, blocks }) => `find says ${target}/${rank} holds ${blocks.join()}`),
        ...(found.length === expected.size ? [] : [`find names ${found.length} of ${expected.size} holders`]),
      ];
    });
  }

  #beginEpoch(): void {
    this.#epoch += 1;
    for (const worker of this.workers) worker.reads = new ReadPlaces();
    this.#index = new EpochIndex(
      { epoch: this.#epoch, tokensPerBlock: TOKENS_PER_BLOCK, hashUnit: 'token', maxBytes: 4 * 1024 * 1024 },
      {
        clock: this.clock,
        random: this.#random,
        queue: this.#queue,
        gate: new ConnectGate({}, { clock: this.clock }),
        refusals: strictRefusals(),
        tally: this.#tally,
        listener: { cacheViewChanged: () => {}, mismatchedEvents: () => {} },
        sourceOf: (target) => this.workers.find((one) => one.target === target && one.isConnected)?.stream,
        hashUnitOf: () => undefined,
        contractOf: () => undefined,
        onLag: () => {},
      },
    );
    this.report();
  }

  #setMembers(): void {
    const members = this.workers
      .filter(({ isListed }) => isListed)
      .map(({ target }) => ({ target, offer: 'full', instanceId: this.#reported.get(target) ?? '' }));
    this.#index.setMembers(members as unknown as readonly MemberView[]);
  }

  async #startSidecar(worker: ChainWorker): Promise<void> {
    const { clock } = this;
    const eventReader = new EngineEventReader(worker.sketch.eventReader, {
      clock,
      random: this.#random,
      logger: new RecordingLogger(),
      onObserved: () => {},
      onPublisherRestart: () => {},
      sockets: socketsTo(worker.ports),
    });
    worker.eventReader = eventReader;
    worker.ledger = new Ledger(eventReader, worker.engines);
    worker.stream = new ChainStream(
      eventReader,
      worker.ledger,
      { ranks: worker.engines.length },
      () => worker.reads,
    );
    this.probe(worker);
    eventReader.setSources(worker.ports.map(({ source }) => source));
    // The code that reads is loaded when the first source is set.
    while (eventReader.ranks.some(({ reason }) => reason === 'its events are not read yet')) await turns();
  }
}
