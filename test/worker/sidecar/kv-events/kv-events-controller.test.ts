import { describe, expect, it } from 'vitest';
import type { RelayMessage } from '../../../../src/core/relay/relay.js';
import { CapabilityReport, EngineState } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import {
  type EventReading,
  KvEventsController,
} from '../../../../src/worker/sidecar/kv-events/kv-events-controller.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { RecordingLogger } from '../../../support/recording-logger.js';
import { turns } from '../../../support/turns.js';
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
  controller: KvEventsController;
  reader: FakeEventReader;
  logger: RecordingLogger;
  loads: () => number;
  ready(instanceId: string, endpoints: readonly string[] | undefined): Promise<void>;
} {
  const reader = new FakeEventReader();
  const logger = new RecordingLogger();
  let loads = 0;
  const reading: EventReading = {
    settings: { from: 'engine' },
    loadReader: async () => {
      loads += 1;
      return reader;
    },
    ...(options === 'off' ? {} : options),
  };
  const controller = new KvEventsController(
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
    controller.follow(reportOf(instanceId, endpoints), EngineState.READY);
    await turns();
  };
  return { controller, reader, logger, loads: () => loads, ready };
}

/** A reader that takes everything that there is, whenever there is something. */
function follow(controller: KvEventsController): RelayMessage[] {
  const got: RelayMessage[] = [];
  const take = (): void => {
    for (let next = reader.next(); next !== undefined; next = reader.next()) got.push(next);
  };
  const reader = controller.relay.open(undefined, () => take());
  take();
  return got;
}

const startsOf = (messages: readonly RelayMessage[]): { reason: string; ranks: number }[] =>
  messages.flatMap((each) =>
    each.type === 'start' ? [{ reason: each.reason, ranks: each.ranks.length }] : [],
  );

describe('what a canary found out of the events', () => {
  it('says how many blocks the engine has, before the first source and whenever that changes', async () => {
    const { controller, reader } = open();
    const report = (totalKvBlocks: bigint): CapabilityReport => {
      const base = reportOf('i-1', ONE);
      return { ...base, capacity: { kvTiers: [], totalKvBlocks } };
    };
    controller.follow(report(200n), EngineState.READY);
    await turns();
    expect(reader.capacityBlocks).toBe(200);
    controller.follow(report(300n), EngineState.READY);
    expect(reader.capacityBlocks).toBe(300);
    controller.follow(reportOf('i-1', ONE), EngineState.READY);
    expect(reader.capacityBlocks).toBeUndefined();
  });

  it('passes nothing on of a source of another engine, until the engine or the source is another', async () => {
    const { controller, reader, ready } = open();
    await ready('i-1', ONE);
    const got = follow(controller);
    controller.distrust("it is not this engine's");
    expect(startsOf(got).at(-1)).toEqual({ reason: "it is not this engine's", ranks: 0 });
    await ready('i-1', ONE);
    expect(controller.reason).toBe("it is not this engine's");
    expect(reader.calls.at(-1)).toBe('sources ');
    expect(controller.sources).toEqual([]);
    await ready('i-1', ['tcp://127.0.0.1:6000']);
    expect(reader.calls.at(-1)).toBe('sources tcp://127.0.0.1:6000');
    controller.distrust('again');
    await ready('i-2', ['tcp://127.0.0.1:6000']);
    expect(controller.reason).toBe('');
  });

  it('calls nothing exact while something speaks against it, and says so to subscribers when that ends', async () => {
    const { controller, reader, ready } = open();
    await ready('i-1', ONE);
    reader.ranks = [exactRank(0)];
    const got = follow(controller);
    controller.setCaveat('the canary failed');
    expect(controller.relay.ranks[0]).toMatchObject({ picture: 'approximate', reason: 'the canary failed' });
    const pictures = (): (string | undefined)[] =>
      got.flatMap((each) => (each.type === 'start' ? [each.ranks[0]?.picture] : []));
    expect(pictures().at(-1)).toBe('approximate');
    controller.setCaveat('');
    expect(controller.relay.ranks[0]?.picture).toBe('exact');
    expect(pictures().at(-1)).toBe('exact');
  });
});

describe('reading the KV events of an engine', () => {
  it('loads nothing before there is something to read, and says why nothing is read', async () => {
    const { controller, loads, ready } = open();
    expect(controller.reason).toContain('not been asked yet');
    controller.follow(reportOf('unseen', undefined), EngineState.STARTING);
    expect(controller.reason).toContain('not ready');
    await ready('i-1', []);
    expect(controller.reason).toContain('names no source of KV events');
    expect(loads()).toBe(0);
  });

  it('names the instance before its sources, and each of them once', async () => {
    const { controller, reader, loads, ready } = open();
    await ready('i-1', ONE);
    await ready('i-1', ONE);
    expect(reader.calls).toEqual(['instance i-1', 'sources tcp://127.0.0.1:5557']);
    expect(controller.sources).toHaveLength(1);
    expect(controller.reason).toBe('');
    expect(loads()).toBe(1);
  });

  it('takes the newest of what was found while the reader was being loaded', async () => {
    const { controller, reader } = open();
    controller.follow(reportOf('i-1', ONE), EngineState.READY);
    controller.follow(reportOf('i-2', ['tcp://127.0.0.1:6000']), EngineState.READY);
    await turns();
    expect(reader.calls).toEqual(['instance i-2', 'sources tcp://127.0.0.1:6000']);
  });

  it('reads on while the engine misses rounds, or says nothing of its events for a while', async () => {
    const { controller, reader, ready } = open();
    await ready('i-1', ONE);
    controller.follow(reportOf('i-1', undefined), EngineState.UNREACHABLE);
    await ready('i-1', undefined);
    expect(reader.calls).toHaveLength(2);
    expect(controller.sources).toHaveLength(1);
  });

  it('follows the engine to its next start', async () => {
    const { controller, reader, ready } = open();
    await ready('i-1', ONE);
    await ready('i-2', ONE);
    expect(reader.calls.slice(2)).toEqual(['instance i-2', 'sources tcp://127.0.0.1:5557']);
    await ready('i-3', undefined);
    expect(reader.calls.at(-1)).toBe('sources ');
    expect(controller.sources).toEqual([]);
  });

  it('reads what the operator names of an engine that nobody asks', async () => {
    const sources = [{ kind: 'zmq', rank: 0, endpoint: 'tcp://e:1', topic: '' }] as const;
    const { controller, reader } = open({ settings: { from: 'operator', sources } });
    controller.follow(reportOf('unseen', undefined), EngineState.UNSPECIFIED);
    await turns();
    expect(reader.sources).toEqual(sources);
  });

  it('says why where the reader cannot be had, once, and goes on without', async () => {
    let loads = 0;
    const { controller, logger, ready } = open({
      loadReader: () => {
        loads += 1;
        return Promise.reject(new Error('no build of ZeroMQ for this platform'));
      },
    });
    await ready('i-1', ONE);
    await ready('i-1', ONE);
    await ready('i-2', ONE);
    expect(controller.reason).toBe('KV events cannot be read: no build of ZeroMQ for this platform');
    expect(controller.sources).toEqual([]);
    expect(logger.messages('error')).toHaveLength(1);
    expect(loads).toBe(1);
    await controller.close();
  });

  it('reads nothing when it is switched off, and closes what it opened', async () => {
    const off = open('off');
    await off.ready('i-1', ONE);
    expect(off.controller.reason).toContain('--kv-event-sources off');
    expect(off.loads()).toBe(0);
    await off.controller.close();
    const on = open();
    await on.ready('i-1', ONE);
    await on.controller.close();
    expect(on.reader.isClosed).toBe(true);
    await on.ready('i-2', ONE);
    expect(on.reader.instanceId).toBe('i-1');
  });
});

describe('a reader of what is known', () => {
  it('is informed why there is nothing, then everything as soon as there is something, then why not again', async () => {
    const { controller, reader, ready } = open();
    reader.ranks = [exactRank()];
    const got = follow(controller);
    expect(got.map(({ type }) => type)).toEqual(['start', 'snapshot_end']);
    await ready('i-1', ONE);
    reader.change(stored(1));
    expect(got.at(-1)).toMatchObject({ type: 'changes', sequence: 1 });
    await ready('i-1', []);
    expect(startsOf(got)).toEqual([
      { reason: expect.stringContaining('not been asked yet'), ranks: 0 },
      { reason: '', ranks: 1 },
      { reason: expect.stringContaining('names no source'), ranks: 0 },
    ]);
    expect(new Set(got.flatMap((each) => (each.type === 'start' ? [each.streamId] : []))).size).toBe(3);
    expect(reader.openReaders).toBe(0);
    expect(controller.relay.ranks).toEqual([]);
  });

  it('gets nothing from a round that found the same', async () => {
    const { controller, ready } = open();
    await ready('i-1', []);
    const got = follow(controller);
    await ready('i-1', []);
    expect(got).toHaveLength(2);
  });

  it('goes on where it left off when the reader is there, and gets nothing after it closed', async () => {
    const { controller, reader, ready } = open();
    await ready('i-1', ONE);
    reader.change(stored(1));
    reader.change(stored(2));
    let calls = 0;
    const subscriber = controller.relay.open({ streamId: 'stream-1', sequence: 1 }, () => {
      calls += 1;
    });
    expect(subscriber.next()).toMatchObject({ type: 'start', resumed: true });
    expect(subscriber.next()).toMatchObject({ type: 'changes', sequence: 2 });
    subscriber.close();
    await ready('i-2', []);
    expect(calls).toBe(0);
    expect(reader.openReaders).toBe(0);
  });
});
