import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ObservedSize } from '../../../src/core/contract/evidence/observed-size.js';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { systemRandom } from '../../../src/edge/platform/random.js';
import { sequenceFrame } from '../../../src/tools/demo/engines/kv-publisher.js';
import {
  EngineEventReader,
  type EngineEventReaderOptions,
} from '../../../src/worker/kv-events/engine-event-reader.js';
import { OpenThings } from '../../support/open-things.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import {
  batchOf,
  cleared,
  FakePublisher,
  type FakePublisherOptions,
  removed,
  stored,
} from './support/fake-publisher.js';
import { Replica, truthOf } from './support/replica.js';

const open = new OpenThings();
afterEach(() => open.close());

async function publisher(options: FakePublisherOptions = {}): Promise<FakePublisher> {
  const made = await FakePublisher.start(options);
  open.add(() => made.stop());
  return made;
}

/** A rank whose publisher was reached and has given no batch. */
const NOTHING_YET = {
  picture: 'partial',
  reason: 'the engine has published nothing yet, or keeps nothing of it',
};

interface Followed {
  readonly eventReader: EngineEventReader;
  readonly observed: ObservedSize[];
  readonly restarts: () => number;
  /** Reads along. */
  readonly replica: Replica;
}

function follow(engine: FakePublisher, options: EngineEventReaderOptions = {}): Followed {
  const observed: ObservedSize[] = [];
  let restarts = 0;
  const eventReader = new EngineEventReader(
    { silenceTimeoutMs: 400, firstAuditMs: 50, reopenAfterMs: 500, ...options },
    {
      clock: systemClock,
      random: systemRandom,
      logger: new RecordingLogger(),
      onObserved: (size) => observed.push(size),
      onPublisherRestart: () => {
        restarts += 1;
      },
    },
  );
  open.add(() => eventReader.close());
  eventReader.setInstance('i-1');
  eventReader.setSources([engine.source]);
  return { eventReader, observed, restarts: () => restarts, replica: new Replica(eventReader) };
}

/** Waits until the reader holds what the engine holds. */
async function agree(engine: FakePublisher, { replica }: Followed): Promise<void> {
  const truth = truthOf(engine.payloads);
  await vi.waitFor(() => expect(replica.size).toBe(truth.length), { timeout: 8_000, interval: 10 });
  await vi.waitFor(() => expect(replica.blocks).toEqual(truthOf(engine.payloads)), {
    timeout: 8_000,
    interval: 50,
  });
}

async function reach(followed: Followed, status: object): Promise<void> {
  await vi.waitFor(() => expect(followed.eventReader.ranks[0]).toMatchObject(status), {
    timeout: 8_000,
    interval: 10,
  });
}

async function publishChain(engine: FakePublisher, from: number, to: number): Promise<void> {
  for (let hash = from; hash <= to; hash += 1) {
    await engine.publish(batchOf(stored(hash * 10, hash === 1 ? null : (hash - 1) * 10)));
  }
}

describe('a reader of an engine that keeps its batches', () => {
  it.each(['two-frames', 'three-frames', 'mocker'] as const)(
    'is exact although it starts late (%s), and follows live',
    async (replay) => {
      const engine = await publisher({ replay });
      await publishChain(engine, 1, 5);
      const followed = follow(engine);
      await reach(followed, { picture: 'exact', engineSequence: 4, blockCount: 5, reason: '' });
      await publishChain(engine, 6, 7);
      await engine.publish(batchOf(removed(70)));
      await agree(engine, followed);
      expect(followed.replica.blocks).toHaveLength(6);
      expect(followed.observed).toMatchObject([
        { tokensPerBlock: 4, unit: 'token', rank: 0, origin: `KV events of ${engine.endpoint}` },
      ]);
    },
  );

  it('is empty while nothing was published, and exact from the first batch on', async () => {
    const engine = await publisher();
    const followed = follow(engine);
    await reach(followed, { ...NOTHING_YET, blockCount: 0 });
    await publishChain(engine, 1, 1);
    await agree(engine, followed);
    await reach(followed, { picture: 'exact', blockCount: 1, reason: '' });
  });

  it('is not exact and empty when its replay gives nothing but the end, however much it has published', async () => {
    const engine = await publisher({ bufferSteps: 0 });
    await publishChain(engine, 1, 5);
    const followed = follow(engine, { auditIntervalMs: 50, healIntervalMs: 50 });
    await reach(followed, { ...NOTHING_YET, blockCount: 0 });
    await engine.publish(batchOf(stored(900)));
    await reach(followed, { picture: 'partial', blockCount: 1, unknownBeforeSequence: 5 });
    const asked = engine.asked.length;
    await vi.waitFor(() => expect(engine.asked.length).toBeGreaterThan(asked + 3));
    expect(followed.eventReader.ranks[0]).toMatchObject({ picture: 'partial', blockCount: 1 });
    expect(followed.restarts()).toBe(0);
    // It may be another start that has published nothing: what is held cannot be believed, nor that it holds nothing.
    engine.stop();
    await engine.comeBack();
    await reach(followed, { ...NOTHING_YET, blockCount: 0 });
  });

  it('closes gaps by replay', async () => {
    const engine = await publisher();
    const followed = follow(engine);
    await reach(followed, NOTHING_YET);
    await publishChain(engine, 1, 2);
    await engine.publish(batchOf(stored(30, 20)), { lose: true });
    await engine.publish(batchOf(stored(40, 30)), { lose: true });
    await publishChain(engine, 5, 6);
    await agree(engine, followed);
    expect(followed.eventReader.ranks[0]?.picture).toBe('exact');
    expect(followed.eventReader.streamCounts.gaps.replayed).toBe(1);
    expect(followed.replica.messages.filter(({ type }) => type === 'start').length).toBeLessThanOrEqual(2);
  });

  it('finds a batch that was lost at the end, after which nothing came', async () => {
    const engine = await publisher();
    const followed = follow(engine, { auditIntervalMs: 50 });
    await reach(followed, NOTHING_YET);
    await publishChain(engine, 1, 2);
    await agree(engine, followed);
    await engine.publish(batchOf(cleared), { lose: true });
    await agree(engine, followed);
  });

  it('drops batches that are sent twice', async () => {
    const engine = await publisher();
    const followed = follow(engine);
    await reach(followed, NOTHING_YET);
    await publishChain(engine, 1, 3);
    await engine.again(1);
    await publishChain(engine, 4, 4);
    await agree(engine, followed);
    expect(followed.eventReader.streamCounts).toMatchObject({
      duplicates: 1,
      batches: 4,
      publisherRestarts: 0,
    });
  });
});

describe('a publisher that restarts', () => {
  it('is recognised when its sequence is lower, and replayed from 0', async () => {
    const engine = await publisher();
    await publishChain(engine, 1, 6);
    const followed = follow(engine);
    await agree(engine, followed);
    engine.stop();
    await engine.comeBack({ isNewProcess: true });
    await engine.publish(batchOf(stored(900)));
    await agree(engine, followed);
    await reach(followed, { picture: 'exact', engineSequence: 0 });
    expect(followed.restarts()).toBe(1);
    expect(followed.eventReader.streamCounts.publisherRestarts).toBe(1);
  });

  it('is recognised when it has published more than the one before', async () => {
    const engine = await publisher();
    await publishChain(engine, 1, 3);
    const followed = follow(engine);
    await agree(engine, followed);
    engine.stop();
    await engine.comeBack({ isNewProcess: true });
    await publishChain(engine, 101, 101);
    for (let hash = 200; hash < 212; hash += 1) await engine.publish(batchOf(stored(hash * 10)));
    await agree(engine, followed);
    expect(followed.restarts()).toBe(1);
  });

  it('is recognised before it publishes anything', async () => {
    const engine = await publisher();
    await publishChain(engine, 1, 3);
    const followed = follow(engine);
    await agree(engine, followed);
    engine.stop();
    await engine.comeBack({ isNewProcess: true });
    await reach(followed, { picture: 'exact', blockCount: 0 });
    expect(followed.restarts()).toBe(1);
    expect(followed.replica.blocks).toEqual([]);
  });

  it('is recognised without a replay endpoint by a number that comes again', async () => {
    const engine = await publisher({ replay: null });
    const followed = follow(engine);
    await reach(followed, { picture: 'partial' });
    await vi.waitFor(async () => {
      if (engine.payloads.length < 3) await publishChain(engine, engine.payloads.length + 1, 3);
      expect(followed.eventReader.streamCounts.batches).toBeGreaterThan(1);
    });
    engine.stop();
    await engine.comeBack({ isNewProcess: true });
    await vi.waitFor(() => expect(followed.eventReader.streamCounts.disconnects).toBe(1));
    await reach(followed, { reason: expect.stringContaining('was interrupted') });
    await engine.publish(batchOf(stored(900)));
    await agree(engine, followed);
    await reach(followed, { picture: 'exact', engineSequence: 0 });
    expect(followed.restarts()).toBe(1);
  });

  it('is one restart when the report names another instance for it', async () => {
    const engine = await publisher();
    await publishChain(engine, 1, 3);
    const followed = follow(engine);
    await agree(engine, followed);
    engine.stop();
    await engine.comeBack({ isNewProcess: true });
    await publishChain(engine, 1, 2);
    await vi.waitFor(() => expect(followed.restarts()).toBe(1));
    await agree(engine, followed);
    const asked = engine.asked.length;
    const sentBefore = followed.replica.messages.length;
    followed.eventReader.setInstance('i-2');
    expect(followed.replica.messages[sentBefore]).toMatchObject({
      type: 'start',
      resumed: true,
      instanceId: 'i-2',
    });
    await agree(engine, followed);
    expect(engine.asked.slice(asked)).not.toContain(0);
  });

  it('is taken for one when the report alone names another instance', async () => {
    const engine = await publisher();
    await publishChain(engine, 1, 3);
    const followed = follow(engine);
    await agree(engine, followed);
    const sentBefore = followed.replica.messages.length;
    followed.eventReader.setInstance('i-2');
    expect(followed.replica.messages[sentBefore]).toMatchObject({
      type: 'start',
      resumed: false,
      instanceId: 'i-2',
      reason: 'rank 0: the engine was restarted',
    });
    expect(followed.replica.blocks).toEqual([]);
    await agree(engine, followed);
    await reach(followed, { picture: 'exact', blockCount: 3 });
    expect(followed.replica.instanceId).toBe('i-2');
    expect(followed.observed).toHaveLength(2);
    expect(followed.restarts()).toBe(0);
  });
});

describe('a connection that is interrupted', () => {
  it('changes nothing when the same publisher is there again, and what was missed comes by replay', async () => {
    const engine = await publisher();
    await publishChain(engine, 1, 3);
    const followed = follow(engine);
    await agree(engine, followed);
    const starts = followed.replica.messages.filter(({ type }) => type === 'start').length;
    engine.stop();
    await engine.publish(batchOf(stored(40, 30)), { lose: true });
    await engine.comeBack();
    await agree(engine, followed);
    await publishChain(engine, 5, 5);
    await agree(engine, followed);
    expect(followed.replica.messages.filter(({ type }) => type === 'start')).toHaveLength(starts);
    expect(followed.restarts()).toBe(0);
  });

  it('empties the cache view when it lasts', async () => {
    const engine = await publisher();
    await publishChain(engine, 1, 3);
    const followed = follow(engine, { lostAfterMs: 50 });
    await agree(engine, followed);
    engine.stop();
    await reach(followed, { picture: 'none', blockCount: 0, reason: expect.stringContaining('is lost') });
    expect(followed.replica.blocks).toEqual([]);
    await engine.comeBack();
    await agree(engine, followed);
    await reach(followed, { picture: 'exact' });
    expect(followed.restarts()).toBe(0);
  });
});

describe('an engine that does not keep everything', () => {
  it('has a partial cache view from its oldest batch on, until it clears all blocks', async () => {
    const engine = await publisher({ bufferSteps: 3 });
    for (let hash = 1; hash <= 8; hash += 1) await engine.publish(batchOf(stored(hash * 10)));
    const followed = follow(engine);
    await reach(followed, { picture: 'partial', unknownBeforeSequence: 5, engineSequence: 7, blockCount: 3 });
    expect(followed.eventReader.ranks[0]?.reason).toBe(
      'what the engine stored before its batch 5 is unknown',
    );
    await engine.publish(batchOf(cleared, stored(900)));
    await reach(followed, { picture: 'exact', blockCount: 1, reason: '' });
    expect(followed.eventReader.ranks[0]?.unknownBeforeSequence).toBeUndefined();
    expect(followed.replica.statuses.get(0)?.picture).toBe('exact');
    expect(followed.replica.blocks).toEqual(truthOf(engine.payloads.slice(-1)));
  });

  it('has the cache view emptied when a gap is longer than its memory', async () => {
    const engine = await publisher({ bufferSteps: 2 });
    const followed = follow(engine);
    await reach(followed, NOTHING_YET);
    await publishChain(engine, 1, 2);
    await agree(engine, followed);
    for (let hash = 10; hash <= 15; hash += 1)
      await engine.publish(batchOf(stored(hash * 10)), { lose: true });
    await engine.publish(batchOf(stored(700)));
    await reach(followed, { picture: 'partial', unknownBeforeSequence: 7, blockCount: 2 });
    expect(followed.replica.blocks).toEqual(truthOf(engine.payloads.slice(-2)));
    expect(followed.eventReader.streamCounts.gaps.replay_incomplete).toBe(1);
  });

  it('is partial after the first gap when it has no replay endpoint', async () => {
    const engine = await publisher({ replay: null });
    const followed = follow(engine);
    await reach(followed, { picture: 'partial', reason: 'the source has no replay endpoint' });
    await vi.waitFor(async () => {
      await engine.publish(batchOf(stored(engine.payloads.length * 10)));
      expect(followed.eventReader.streamCounts.batches).toBeGreaterThan(0);
    });
    await engine.publish(batchOf(stored(9_000)), { lose: true });
    const sequence = await engine.publish(batchOf(stored(9_010)));
    await reach(followed, { picture: 'partial', unknownBeforeSequence: sequence, blockCount: 1 });
    expect(followed.eventReader.streamCounts.gaps.no_replay_endpoint).toBe(1);
  });

  it('is followed although its replay does not answer, and made exact when it does', async () => {
    const engine = await publisher();
    let answer = (): void => {};
    engine.beforeReplay = new Promise((resolve) => {
      answer = resolve;
    });
    await publishChain(engine, 1, 2);
    const followed = follow(engine, { healIntervalMs: 100 });
    await reach(followed, {
      picture: 'partial',
      reason: expect.stringContaining('does not answer within 400 ms'),
    });
    await publishChain(engine, 3, 4);
    await reach(followed, { picture: 'partial', engineSequence: 3, unknownBeforeSequence: 2 });
    answer();
    engine.beforeReplay = Promise.resolve();
    await reach(followed, { picture: 'exact', engineSequence: 3, blockCount: 4 });
    await agree(engine, followed);
  });

  it('is asked again for replies that were lost on the way', async () => {
    const engine = await publisher();
    let isDropping = true;
    engine.answers = (sequence) => {
      if (sequence === -1) isDropping = false;
      return !isDropping || (sequence !== 3 && sequence !== 4);
    };
    await publishChain(engine, 1, 8);
    const followed = follow(engine);
    await agree(engine, followed);
    await reach(followed, { picture: 'exact', blockCount: 8 });
  });
});

describe('a publisher that misbehaves', () => {
  it('is counted and changes nothing', async () => {
    const engine = await publisher();
    await publishChain(engine, 1, 2);
    const followed = follow(engine);
    await agree(engine, followed);
    await engine.send(['kv-events']);
    await engine.send(['kv-events', sequenceFrame(2)]);
    await engine.send(['kv-events', sequenceFrame(2), batchOf(), 'more']);
    await engine.send(['kv-events', 'short', batchOf()]);
    await engine.send(['kv-events', Buffer.alloc(8, 0xff), batchOf()]);
    await engine.publish(Buffer.from('c1ff00', 'hex'));
    await publishChain(engine, 3, 3);
    await agree(engine, followed);
    // What was published may have come by a replay, before the frames that the socket still holds.
    const refused = { frame_count: 3, sequence: 2, fault: 0 };
    await expect.poll(() => followed.eventReader.streamCounts.refused).toEqual(refused);
  });

  it('is disconnected when a message is larger than the bound, and followed again', async () => {
    const engine = await publisher();
    const followed = follow(engine, { maxMessageBytes: 64 * 1024, healIntervalMs: 60_000 });
    await reach(followed, NOTHING_YET);
    await publishChain(engine, 1, 2);
    await agree(engine, followed);
    await engine.publish(Buffer.alloc(1024 * 1024));
    await vi.waitFor(() => expect(followed.eventReader.streamCounts.disconnects).toBeGreaterThan(0), {
      timeout: 5_000,
    });
    await vi.waitFor(
      async () => {
        await engine.publish(batchOf(stored(engine.payloads.length * 1_000)));
        expect(followed.eventReader.ranks[0]?.engineSequence).toBeGreaterThan(2);
      },
      { timeout: 10_000, interval: 200 },
    );
    await reach(followed, { picture: 'partial' });
  });

  it('has its orphans healed by one replay', async () => {
    const engine = await publisher();
    await publishChain(engine, 1, 2);
    const followed = follow(engine);
    await agree(engine, followed);
    const asked = engine.asked.filter((from) => from === 0).length;
    await engine.publish(batchOf(stored(90, 80)));
    await engine.publish(batchOf(stored(95, 90)));
    await vi.waitFor(() => expect(followed.eventReader.streamCounts.rebuilds).toBeGreaterThan(1));
    expect(engine.asked.filter((from) => from === 0).length).toBeLessThanOrEqual(asked + 2);
    await reach(followed, {
      picture: 'partial',
      reason: 'blocks were stored that follow one that is not known',
    });
    await agree(engine, followed);
  });
});

describe('a reader of events', () => {
  it('takes a burst of 10,000 batches, lets others work meanwhile, and is exact', async () => {
    const engine = await publisher();
    const followed = follow(engine);
    await reach(followed, NOTHING_YET);
    await publishChain(engine, 1, 10_000);
    await agree(engine, followed);
    expect(followed.eventReader.ranks[0]).toMatchObject({ picture: 'exact', engineSequence: 9_999 });
  });

  it('replays 10,000 batches to one that starts late', async () => {
    const engine = await publisher();
    for (let hash = 1; hash <= 10_000; hash += 1) {
      await engine.publish(batchOf(stored(hash * 10, hash === 1 ? null : (hash - 1) * 10)), { lose: true });
    }
    const followed = follow(engine);
    await agree(engine, followed);
    await reach(followed, { picture: 'exact', engineSequence: 9_999 });
  });

  it('binds for a publisher that connects, as soon as the address is free', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const connectTo = `tcp://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const followed = follow(await publisher());
    followed.eventReader.setSources([{ rank: 0, endpoint: `@${connectTo}`, topic: '' }]);
    await reach(followed, { picture: 'none', reason: expect.stringContaining('Address already in use') });
    await new Promise((resolve) => other.close(resolve));
    const engine = await publisher({ replay: null, connectTo });
    await reach(followed, { picture: 'partial' });
    await vi.waitFor(async () => {
      await engine.publish(batchOf(cleared));
      expect(followed.eventReader.ranks[0]?.picture).toBe('exact');
    });
    await engine.publish(batchOf(stored(10)));
    await agree(engine, followed);
  });

  it('reads a socket file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kv-accord-reader-'));
    open.add(() => rmSync(folder, { recursive: true }));
    const engine = await publisher({ endpoint: `ipc://${folder}/events` });
    await publishChain(engine, 1, 3);
    const followed = follow(engine);
    await agree(engine, followed);
    await publishChain(engine, 4, 5);
    await agree(engine, followed);
  });

  it('finds its engine at an address where something else listened before', async () => {
    let greeted = 0;
    const other = createServer((socket) => {
      greeted += 1;
      socket.on('error', () => {});
      socket.write('HTTP/1.1 400 Bad Request\r\n\r\n', () => socket.destroy());
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const endpoint = `tcp://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const followed = follow(await publisher());
    followed.eventReader.setSources([{ rank: 0, endpoint, topic: '' }]);
    await vi.waitFor(() => expect(greeted).toBeGreaterThan(0));
    await new Promise((resolve) => other.close(resolve));
    await reach(followed, { picture: 'none', reason: `no connection to ${endpoint} yet` });
    const late = await publisher({ endpoint, replay: null });
    await vi.waitFor(
      async () => {
        await late.publish(batchOf(cleared));
        expect(followed.eventReader.ranks[0]?.picture).toBe('exact');
      },
      { timeout: 5_000 },
    );
  });

  it('says why an address cannot be read', async () => {
    const engine = await publisher();
    const followed = follow(engine);
    followed.eventReader.setSources([{ rank: 0, endpoint: 'udp://127.0.0.1:1', topic: '' }]);
    await reach(followed, {
      picture: 'none',
      reason:
        'cannot read udp://127.0.0.1:1: not an address of KV events; expected tcp://HOST:PORT or ipc://PATH',
    });
  });

  it('follows several ranks, and drops what is not a source any more', async () => {
    const engines = [await publisher(), await publisher()];
    const sources = engines.map((engine, rank) => ({ ...engine.source, rank }));
    for (const engine of engines) await publishChain(engine, 1, 3);
    const followed = follow(engines[0] as FakePublisher);
    followed.eventReader.setSources(sources);
    const both = (): string[] => engines.flatMap((engine, rank) => truthOf(engine.payloads, rank)).sort();
    await vi.waitFor(() => expect(followed.replica.blocks).toEqual(both()));
    expect(followed.eventReader.ranks.map(({ rank, picture }) => [rank, picture])).toEqual([
      [0, 'exact'],
      [1, 'exact'],
    ]);
    followed.eventReader.setSources(sources.slice(0, 1));
    await agree(engines[0] as FakePublisher, followed);
    expect(followed.eventReader.ranks).toHaveLength(1);
  });

  it('gives readers the same, whenever they come, and resumes them where they left', async () => {
    const engine = await publisher();
    const followed = follow(engine);
    await reach(followed, NOTHING_YET);
    await publishChain(engine, 1, 5);
    await agree(engine, followed);
    const late = new Replica(followed.eventReader);
    expect(late.blocks).toEqual(followed.replica.blocks);
    late.reader.close();
    const { position, blocks } = late;
    await publishChain(engine, 6, 7);
    await agree(engine, followed);
    const again = new Replica(followed.eventReader, position, blocks);
    expect(again.messages.map(({ type }) => type)).toEqual(['start', 'changes', 'changes']);
    expect(again.messages[0]).toMatchObject({ resumed: true });
    expect(again.blocks).toEqual(followed.replica.blocks);
  });

  it('leaves nothing open', async () => {
    const engine = await publisher();
    const followed = follow(engine);
    await reach(followed, NOTHING_YET);
    await followed.eventReader.close();
    await followed.eventReader.close();
    expect(followed.eventReader.ranks).toEqual([]);
  });
});
