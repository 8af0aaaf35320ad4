import { describe, expect, it } from 'vitest';
import type { RelayMessage } from '../../../../src/core/relay/relay.js';
import { CapabilityReport, EngineState } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import {
  type EventReading,
  KvEventsController,
} from '../../../../src/worker/sidecar/kv-events/kv-events-controller.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { RecordingLogger } from '../../../support/recording-logger.js';
import { exactRank, FakeEventReader, stored } from '../support/fake-event-reader.js';
import { countingRandom } from '../support/scripted-probe.js';

/** A report of an instance whose engine names these endpoints; undefined when it says nothing of events. */
function reportOf(instanceId: string, endpoints: readonly string[] | undefined): CapabilityReport {
  return CapabilityReport.fromPartial({
    workerId: 'w-1',
    instanceId,
    kvEventSources: (endpoints ?? []).map((endpoint, rank) => ({
      dataParallelRank: rank,
      transport: 'zmq',
      endpoint,
    })),
    evidence: endpoints === undefined ? [] : [{ field: 'kv_event_sources' }],
  });
}

const ONE = ['tcp://127.0.0.1:5557'];

function open(options: Partial<EventReading> | 'off' = {}): {
  intake: KvEventsController;
  feed: FakeEventReader;
  logger: RecordingLogger;
  loads: () => number;
  ready(instanceId: string, endpoints: readonly string[] | undefined): Promise<void>;
} {
  const feed = new FakeEventReader();
  const logger = new RecordingLogger();
  let loads = 0;
  const reading: EventReading = {
    settings: { from: 'engine' },
    loadReader: async () => {
      loads += 1;
      return feed;
    },
    ...(options === 'off' ? {} : options),
  };
  const intake = new KvEventsController(
    { reading: options === 'off' ? undefined : reading, instanceId: 'unseen' },
    {
      clock: new FakeClock(),
      random: countingRandom(),
      logger,
      onObserved: () => undefined,
      onPublisherRestart: () => undefined,
      onPublisherDown: () => undefined,
    },
  );
  const ready = async (instanceId: string, endpoints: readonly string[] | undefined): Promise<void> => {
    intake.follow(reportOf(instanceId, endpoints), EngineState.READY);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { intake, feed, logger, loads: () => loads, ready };
}

/** A reader that takes everything that there is, whenever there is something. */
function follow(intake: KvEventsController): RelayMessage[] {
  const got: RelayMessage[] = [];
  const take = (): void => {
    for (let next = reader.next(); next !== undefined; next = reader.next()) got.push(next);
  };
  const reader = intake.relay.open(undefined, () => take());
  take();
  return got;
}

const startsOf = (messages: readonly RelayMessage[]): { reason: string; ranks: number }[] =>
  messages.flatMap((each) =>
    each.type === 'start' ? [{ reason: each.reason, ranks: each.ranks.length }] : [],
  );

describe('what a canary found out of the events', () => {
  it('says how many blocks the engine has, before the first source and whenever that changes', async () => {
    const { intake, feed } = open();
    const report = (totalKvBlocks: bigint): CapabilityReport => {
      const base = reportOf('i-1', ONE);
      return { ...base, capacity: { kvTiers: [], totalKvBlocks } };
    };
    intake.follow(report(200n), EngineState.READY);
    await new Promise((resolve) => setImmediate(resolve));
    expect(feed.capacityBlocks).toBe(200);
    intake.follow(report(300n), EngineState.READY);
    expect(feed.capacityBlocks).toBe(300);
    intake.follow(reportOf('i-1', ONE), EngineState.READY);
    expect(feed.capacityBlocks).toBeUndefined();
  });

  it('passes nothing on of a source of another engine, until the engine or the source is another', async () => {
    const { intake, feed, ready } = open();
    await ready('i-1', ONE);
    const got = follow(intake);
    intake.distrust("it is not this engine's");
    expect(startsOf(got).at(-1)).toEqual({ reason: "it is not this engine's", ranks: 0 });
    await ready('i-1', ONE);
    expect(intake.reason).toBe("it is not this engine's");
    expect(feed.told.at(-1)).toBe('sources ');
    expect(intake.sources).toEqual([]);
    await ready('i-1', ['tcp://127.0.0.1:6000']);
    expect(feed.told.at(-1)).toBe('sources tcp://127.0.0.1:6000');
    intake.distrust('again');
    await ready('i-2', ['tcp://127.0.0.1:6000']);
    expect(intake.reason).toBe('');
  });

  it('calls nothing exact while something speaks against it, and tells readers when that ends', async () => {
    const { intake, feed, ready } = open();
    await ready('i-1', ONE);
    feed.ranks = [exactRank(0)];
    const got = follow(intake);
    intake.setCaveat('the canary failed');
    expect(intake.relay.ranks[0]).toMatchObject({ picture: 'approximate', reason: 'the canary failed' });
    const pictures = (): (string | undefined)[] =>
      got.flatMap((each) => (each.type === 'start' ? [each.ranks[0]?.picture] : []));
    expect(pictures().at(-1)).toBe('approximate');
    intake.setCaveat('');
    expect(intake.relay.ranks[0]?.picture).toBe('exact');
    expect(pictures().at(-1)).toBe('exact');
  });
});

describe('reading the KV events of an engine', () => {
  it('loads nothing before there is something to read, and says why nothing is read', async () => {
    const { intake, loads, ready } = open();
    expect(intake.reason).toContain('not been asked yet');
    intake.follow(reportOf('unseen', undefined), EngineState.STARTING);
    expect(intake.reason).toContain('not ready');
    await ready('i-1', []);
    expect(intake.reason).toContain('names no source of KV events');
    expect(loads()).toBe(0);
  });

  it('names the instance before its sources, and each of them once', async () => {
    const { intake, feed, loads, ready } = open();
    await ready('i-1', ONE);
    await ready('i-1', ONE);
    expect(feed.told).toEqual(['instance i-1', 'sources tcp://127.0.0.1:5557']);
    expect(intake.sources).toHaveLength(1);
    expect(intake.reason).toBe('');
    expect(loads()).toBe(1);
  });

  it('takes the newest of what was found while the feed was being loaded', async () => {
    const { intake, feed } = open();
    intake.follow(reportOf('i-1', ONE), EngineState.READY);
    intake.follow(reportOf('i-2', ['tcp://127.0.0.1:6000']), EngineState.READY);
    await new Promise((resolve) => setImmediate(resolve));
    expect(feed.told).toEqual(['instance i-2', 'sources tcp://127.0.0.1:6000']);
  });

  it('reads on while the engine misses rounds, or says nothing of its events for a while', async () => {
    const { intake, feed, ready } = open();
    await ready('i-1', ONE);
    intake.follow(reportOf('i-1', undefined), EngineState.UNREACHABLE);
    await ready('i-1', undefined);
    expect(feed.told).toHaveLength(2);
    expect(intake.sources).toHaveLength(1);
  });

  it('follows the engine to its next start', async () => {
    const { intake, feed, ready } = open();
    await ready('i-1', ONE);
    await ready('i-2', ONE);
    expect(feed.told.slice(2)).toEqual(['instance i-2', 'sources tcp://127.0.0.1:5557']);
    await ready('i-3', undefined);
    expect(feed.told.at(-1)).toBe('sources ');
    expect(intake.sources).toEqual([]);
  });

  it('reads what the operator names of an engine that nobody asks', async () => {
    const sources = [{ kind: 'zmq', rank: 0, endpoint: 'tcp://e:1', topic: '' }] as const;
    const { intake, feed } = open({ settings: { from: 'operator', sources } });
    intake.follow(reportOf('unseen', undefined), EngineState.UNSPECIFIED);
    await new Promise((resolve) => setImmediate(resolve));
    expect(feed.sources).toEqual(sources);
  });

  it('says why where the feed cannot be had, once, and goes on without', async () => {
    let loads = 0;
    const { intake, logger, ready } = open({
      loadReader: () => {
        loads += 1;
        return Promise.reject(new Error('no build of ZeroMQ for this platform'));
      },
    });
    await ready('i-1', ONE);
    await ready('i-1', ONE);
    await ready('i-2', ONE);
    expect(intake.reason).toBe('KV events cannot be read: no build of ZeroMQ for this platform');
    expect(intake.sources).toEqual([]);
    expect(logger.messages('error')).toHaveLength(1);
    expect(loads).toBe(1);
    await intake.close();
  });

  it('reads nothing when it is switched off, and closes what it opened', async () => {
    const off = open('off');
    await off.ready('i-1', ONE);
    expect(off.intake.reason).toContain('--kv-event-sources off');
    expect(off.loads()).toBe(0);
    await off.intake.close();
    const on = open();
    await on.ready('i-1', ONE);
    await on.intake.close();
    expect(on.reader.isClosed).toBe(true);
    await on.ready('i-2', ONE);
    expect(on.reader.instanceId).toBe('i-1');
  });
});

describe('a reader of what is known', () => {
  it('is told why nothing is, then everything as soon as there is something, then why not again', async () => {
    const { intake, feed, ready } = open();
    feed.ranks = [exactRank()];
    const got = follow(intake);
    expect(got.map(({ type }) => type)).toEqual(['start', 'snapshot_end']);
    await ready('i-1', ONE);
    feed.change(stored(1));
    expect(got.at(-1)).toMatchObject({ type: 'changes', sequence: 1 });
    await ready('i-1', []);
    expect(startsOf(got)).toEqual([
      { reason: expect.stringContaining('not been asked yet'), ranks: 0 },
      { reason: '', ranks: 1 },
      { reason: expect.stringContaining('names no source'), ranks: 0 },
    ]);
    expect(new Set(got.flatMap((each) => (each.type === 'start' ? [each.streamId] : []))).size).toBe(3);
    expect(feed.openReaders).toBe(0);
    expect(intake.relay.ranks).toEqual([]);
  });

  it('is told nothing by a round that found the same', async () => {
    const { intake, ready } = open();
    await ready('i-1', []);
    const got = follow(intake);
    await ready('i-1', []);
    expect(got).toHaveLength(2);
  });

  it('goes on where it left off when the feed is there, and is told nothing after it closed', async () => {
    const { intake, feed, ready } = open();
    await ready('i-1', ONE);
    feed.change(stored(1));
    feed.change(stored(2));
    let calls = 0;
    const reader = intake.relay.open({ streamId: 'stream-1', sequence: 1 }, () => {
      calls += 1;
    });
    expect(reader.next()).toMatchObject({ type: 'start', resumed: true });
    expect(reader.next()).toMatchObject({ type: 'changes', sequence: 2 });
    reader.close();
    await ready('i-2', []);
    expect(calls).toBe(0);
    expect(feed.openReaders).toBe(0);
  });
});
