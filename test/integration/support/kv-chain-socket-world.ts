import { expect, vi } from 'vitest';
import type { MemberView } from '../../../src/core/agreement/view/snapshot.js';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { ConnectGate } from '../../../src/edge/platform/net/connect-gate.js';
import { systemRandom } from '../../../src/edge/platform/random.js';
import { SilenceWatch } from '../../../src/edge/platform/streams/silence-watch.js';
import { systemEventLoop } from '../../../src/edge/platform/time/event-loop.js';
import { EpochIndex } from '../../../src/fleet/indexer/groups/epoch-index.js';
import { WorkQueue } from '../../../src/fleet/indexer/groups/work-queue.js';
import { IndexTally } from '../../../src/fleet/indexer/index/index-tally.js';
import { SidecarRelaySource } from '../../../src/fleet/indexer/relays/sidecar-relay-source.js';
import { EngineEventReader } from '../../../src/worker/kv-events/engine-event-reader.js';
import {
  ENCODED_KV_EVENTS_SERVICE,
  KvEventsEndpoint,
} from '../../../src/worker/sidecar/kv-events/kv-events-service.js';
import { ReportStore } from '../../../src/worker/sidecar/report/report-store.js';
import { address, cleanUp, createTestServer, dial } from '../../edge/rpc/rpc-test-server.js';
import { askedPrompt } from '../../support/asked-prompt.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { strictRefusals } from '../../support/strict-refusals.js';
import { FakePublisher } from '../../worker/kv-events/support/fake-publisher.js';
import { readyView } from '../../worker/sidecar/support/views.js';
import { type ChainBlock, type ChainBlocks, packedHashes, TOKENS_PER_BLOCK } from './kv-chain-blocks.js';
import { creditsOf, leadingBlocks } from './kv-chain-credits.js';
import { type CacheStep, type EngineStyle, RankEngine } from './kv-chain-engine.js';

const TARGET = 'w-0';

interface Sidecar {
  readonly eventReader: EngineEventReader;
  /** The way to it. */
  readonly stream: SidecarRelaySource;
  stop(): Promise<void>;
}

/** One engine of two ranks on ZeroMQ, its sidecar on gRPC, and an index that follows it. */
export class SocketWorld {
  readonly engines: readonly RankEngine[];
  readonly #publishers: readonly FakePublisher[];
  readonly #queue = new WorkQueue({
    clock: systemClock,
    turns: systemEventLoop,
    refusals: strictRefusals(),
  });
  readonly #silence = new SilenceWatch({ clock: systemClock });
  #start = 0;
  #epoch = 0;
  #sidecar!: Sidecar;
  #index!: EpochIndex;

  private constructor(engines: readonly RankEngine[], publishers: readonly FakePublisher[]) {
    this.engines = engines;
    this.#publishers = publishers;
  }

  static async start(styles: readonly EngineStyle[], blocks: ChainBlocks): Promise<SocketWorld> {
    const publishers = await Promise.all(styles.map(() => FakePublisher.start()));
    cleanUp(() => {
      for (const publisher of publishers) publisher.stop();
    });
    const world = new SocketWorld(
      styles.map((style) => new RankEngine(style, blocks)),
      publishers,
    );
    cleanUp(() => world.#queue.close());
    world.#sidecar = await world.#startSidecar();
    cleanUp(() => world.#sidecar.stop());
    world.renewIndex();
    cleanUp(() => world.#index.close());
    return world;
  }

  async publish(rank: number, steps: readonly CacheStep[], isLost: boolean): Promise<void> {
    const engine = this.engines[rank] as RankEngine;
    engine.publish(steps);
    await this.#publishers[rank]?.publish(engine.payloads.at(-1) as Uint8Array, { lose: isLost });
  }

  async restartEngine(): Promise<void> {
    for (const publisher of this.#publishers) publisher.stop();
    const old = `i-${this.#start}`;
    this.#start += 1;
    for (const [rank, engine] of this.engines.entries()) {
      engine.restart();
      await this.#publishers[rank]?.comeBack({ isNewProcess: true });
    }
    this.#sidecar.eventReader.setInstance(`i-${this.#start}`);
    this.#index.forget(TARGET, old);
    this.#setMembers();
  }

  async restartSidecar(): Promise<void> {
    this.#index.setSource(TARGET, undefined);
    await this.#sidecar.stop();
    this.#sidecar = await this.#startSidecar();
    this.#index.setSource(TARGET, this.#sidecar.stream);
  }

  /** The connection to the sidecar is lost and comes back. */
  reconnect(): void {
    this.#index.setSource(TARGET, undefined);
    this.#index.setSource(TARGET, this.#sidecar.stream);
  }

  renewIndex(): void {
    if (this.#epoch > 0) this.#index.close();
    this.#epoch += 1;
    this.#index = new EpochIndex(
      { epoch: this.#epoch, tokensPerBlock: TOKENS_PER_BLOCK, hashUnit: 'token' },
      {
        clock: systemClock,
        random: systemRandom,
        queue: this.#queue,
        gate: new ConnectGate({}, { clock: systemClock }),
        refusals: strictRefusals(),
        tally: new IndexTally(),
        listener: { cacheViewChanged: () => {}, mismatchedEvents: () => {} },
        sourceOf: () => this.#sidecar.stream,
        hashUnitOf: () => undefined,
        contractOf: () => undefined,
        onLag: () => {},
      },
    );
    this.#setMembers();
  }

  /** Nobody is credited with what it never held. */
  checkNow(): void {
    for (const [name, credited] of creditsOf(this.#index)) {
      const { timeline } = this.engines[Number(name.slice(TARGET.length + 1))] as RankEngine;
      const never = [...credited].filter((block) => !timeline.some(({ held }) => held.has(block)));
      expect(never).toEqual([]);
    }
  }

  /** All is exact, equals the truth, and is found by it. */
  async becomesExact(prompts: readonly (readonly ChainBlock[])[]): Promise<void> {
    await vi.waitFor(
      () => {
        const credits = creditsOf(this.#index);
        for (const [rank, { held, payloads }] of this.engines.entries()) {
          // An engine that has published nothing may be one that keeps nothing for a replay.
          const pictures = payloads.length === 0 ? ['exact', 'partial'] : ['exact'];
          expect(pictures).toContain(this.#index.cacheViewOfRank(TARGET, rank));
          expect([...(credits.get(`${TARGET}/${rank}`) ?? [])].sort()).toEqual([...held].sort());
        }
      },
      { timeout: 25_000, interval: 20 },
    );
    for (const prompt of prompts) {
      const hashes = prompt.map(({ sequenceHash }) => sequenceHash);
      const expected = this.engines.flatMap(({ held }, rank) => {
        const blocks = leadingBlocks(held, hashes);
        return (blocks.at(-1) ?? 0) > 0 ? [{ target: TARGET, rank, blocks }] : [];
      });
      const found = this.#index.find(askedPrompt(packedHashes(prompt)));
      expect([...found].sort((one, other) => one.rank - other.rank)).toEqual(expected);
    }
  }

  async #startSidecar(): Promise<Sidecar> {
    const eventReader = new EngineEventReader(
      // On a busy machine a replay may be given up: the next attempt is not to take longer than the test has.
      { healIntervalMs: 500, auditIntervalMs: 1_000 },
      {
        clock: systemClock,
        random: systemRandom,
        logger: new RecordingLogger(),
        onObserved: () => {},
        onPublisherRestart: () => {},
      },
    );
    eventReader.setInstance(`i-${this.#start}`);
    eventReader.setSources(this.#publishers.map(({ source }, rank) => ({ ...source, rank })));
    const store = new ReportStore(
      { workerId: TARGET, sidecarVersion: '0.0.0' },
      { clock: systemClock, view: readyView() },
    );
    const endpoint = new KvEventsEndpoint(
      { workerId: TARGET },
      { events: { open: (_size, position, onReadable) => eventReader.open(position, onReadable) }, store },
    );
    const { server } = createTestServer();
    server.addService(ENCODED_KV_EVENTS_SERVICE, { ...endpoint.createHandlers(server.edge) });
    const { text } = await server.start();
    const channel = dial(address(text));
    return {
      eventReader,
      stream: new SidecarRelaySource({ channel, silence: this.#silence }),
      stop: async () => {
        await server.stop(500);
        await eventReader.close();
      },
    };
  }

  #setMembers(): void {
    const members = [{ target: TARGET, offer: 'full', instanceId: `i-${this.#start}` }];
    this.#index.setMembers(members as unknown as readonly MemberView[]);
  }
}
