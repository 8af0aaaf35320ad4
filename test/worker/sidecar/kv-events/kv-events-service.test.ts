import { credentials, type ServiceError, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import type { RelayMessage } from '../../../../src/core/relay/relay.js';
import { systemClock } from '../../../../src/edge/platform/clock.js';
import { readPeerReason } from '../../../../src/edge/rpc/errors.js';
import {
  KvEventsClient,
  Picture,
  type SubscribeResponse,
  Tier,
} from '../../../../src/gen/kvaccord/v1/kv_events.js';
import {
  ENCODED_KV_EVENTS_SERVICE,
  KvEventsEndpoint,
  type KvEventsServiceOptions,
} from '../../../../src/worker/sidecar/kv-events/kv-events-service.js';
import { ReportStore } from '../../../../src/worker/sidecar/report/report-store.js';
import { cleanUp, createTestServer } from '../../../edge/rpc/rpc-test-server.js';
import { turns, until } from '../../../support/turns.js';
import { exactRank, FakeEventReader, packed, stored } from '../support/fake-event-reader.js';
import { readyView } from '../support/views.js';

type Payload = NonNullable<SubscribeResponse['payload']>;

/** A subscription whose messages a test takes one by one. */
class Subscription {
  readonly #messages: AsyncIterator<SubscribeResponse>;
  readonly cancel: () => void;

  constructor(client: KvEventsClient, resumeStreamId = '', resumeSequence = 0n) {
    const call = client.subscribe({ resumeStreamId, resumeSequence, tokensPerBlock: 0 });
    this.#messages = call[Symbol.asyncIterator]();
    this.cancel = () => call.cancel();
  }

  async next(): Promise<Payload> {
    const { value, done } = await this.#messages.next();
    if (done === true || value?.payload === undefined) throw new Error('the stream is over');
    return value.payload;
  }

  /** What is sent while nothing changes depends on how fast the machine is. */
  async nextButHeartbeats(): Promise<Payload> {
    for (;;) {
      const payload = await this.next();
      if (payload.$case !== 'heartbeat') return payload;
    }
  }

  async take(count: number): Promise<Payload[]> {
    const taken: Payload[] = [];
    while (taken.length < count) taken.push(await this.next());
    return taken;
  }

  /** The error by which the stream ends; undefined when it ends in order. */
  async end(): Promise<ServiceError | undefined> {
    try {
      for (;;) if ((await this.#messages.next()).done === true) return undefined;
    } catch (error) {
      return error as ServiceError;
    }
  }
}

interface Served {
  readonly eventReader: FakeEventReader;
  readonly endpoint: KvEventsEndpoint;
  readonly server: ReturnType<typeof createTestServer>['server'];
  connect(): KvEventsClient;
}

async function serve(options: Partial<KvEventsServiceOptions> = {}): Promise<Served> {
  const store = new ReportStore(
    { workerId: 'w-1', sidecarVersion: '1.2.3' },
    { clock: systemClock, view: readyView() },
  );
  const eventReader = new FakeEventReader();
  eventReader.instanceId = 'i-1';
  const endpoint = new KvEventsEndpoint(
    { workerId: 'w-1', ...options },
    { events: { open: (_size, position, onReadable) => eventReader.open(position, onReadable) }, store },
  );
  const { server } = createTestServer();
  server.addService(ENCODED_KV_EVENTS_SERVICE, { ...endpoint.createHandlers(server.edge) });
  const { text } = await server.start();
  cleanUp(async () => {
    await server.stop(500);
    expect(endpoint.subscribers).toBe(0);
    expect(eventReader.openReaders).toBe(0);
  });
  const connect = (): KvEventsClient => {
    const client = new KvEventsClient(text, credentials.createInsecure(), {
      // A connection of its own for each client.
      'grpc.use_local_subchannel_pool': 1,
    });
    cleanUp(() => client.close());
    return client;
  };
  return { eventReader, endpoint, server, connect };
}

const caseOf = ({ $case }: Payload): string => $case;

describe('KvEvents.Subscribe', () => {
  it('says who it is, then all that the worker holds, then each change', async () => {
    const { eventReader, connect } = await serve();
    eventReader.ranks = [
      { ...exactRank(0, 2), engineSequence: 7 },
      { rank: 1, picture: 'partial', reason: 'no replay', blockCount: 0, unknownBeforeSequence: 3 },
    ];
    eventReader.snapshot = [
      { type: 'snapshot_part', rank: 0, tier: 'host', tokensPerBlock: 32, sequenceHashes: packed(1, 2) },
    ];
    const subscription = new Subscription(connect());
    const [start, part, end] = await subscription.take(3);
    expect(start).toEqual({
      $case: 'start',
      value: {
        workerId: 'w-1',
        instanceId: 'i-1',
        streamId: 'stream-1',
        resumed: false,
        reason: '',
        tokensPerBlock: 0,
        ranks: [
          {
            dataParallelRank: 0,
            picture: Picture.EXACT,
            engineSequence: 7n,
            unknownBeforeSequence: undefined,
            reason: '',
            blockCount: 2n,
            cacheGroups: [],
          },
          {
            dataParallelRank: 1,
            picture: Picture.PARTIAL,
            engineSequence: undefined,
            unknownBeforeSequence: 3n,
            reason: 'no replay',
            blockCount: 0n,
            cacheGroups: [],
          },
        ],
      },
    });
    expect(part).toMatchObject({
      $case: 'snapshotPart',
      value: { dataParallelRank: 0, tier: Tier.HOST, tokensPerBlock: 32 },
    });
    expect(part?.$case === 'snapshotPart' && new Uint8Array(part.value.sequenceHashes)).toEqual(packed(1, 2));
    expect(end).toEqual({ $case: 'snapshotEnd', value: { sequence: 0n } });

    eventReader.change(
      stored(3),
      { type: 'removed', tier: 'disk', sequenceHashes: packed(1) },
      { type: 'cleared' },
    );
    eventReader.say({ ...exactRank(), picture: 'none', reason: 'lost' });
    const [changes, state] = await subscription.take(2);
    expect(changes).toMatchObject({
      $case: 'changes',
      value: {
        sequence: 1n,
        dataParallelRank: 0,
        enginePublishedAt: new Date(1_000),
        changes: [
          { change: { $case: 'stored', value: { tier: Tier.DEVICE, tokensPerBlock: 32 } } },
          { change: { $case: 'removed', value: { tier: Tier.DISK } } },
          { change: { $case: 'cleared' } },
        ],
      },
    });
    expect(state).toMatchObject({
      $case: 'rankState',
      value: { picture: Picture.NONE, reason: 'lost' },
    });
    subscription.cancel();
  });

  it('goes on where the caller left it', async () => {
    const { eventReader, connect } = await serve();
    eventReader.change(stored(1));
    eventReader.change(stored(2));
    const subscription = new Subscription(connect(), 'stream-1', 1n);
    const [start, change] = await subscription.take(2);
    expect(start).toMatchObject({ $case: 'start', value: { resumed: true } });
    expect(change).toMatchObject({ $case: 'changes', value: { sequence: 2n } });
    expect(eventReader.positions).toEqual([{ streamId: 'stream-1', sequence: 1 }]);
    subscription.cancel();
  });

  it('reports the same change to many subscribers, in order, written once', async () => {
    const { eventReader, connect } = await serve();
    const subscriptions = Array.from({ length: 5 }, () => new Subscription(connect()));
    for (const each of subscriptions) await each.take(2);
    for (let change = 0; change < 50; change += 1) eventReader.change(stored(change));
    for (const each of subscriptions) {
      const sequences = (await each.take(50)).map((payload) =>
        payload.$case === 'changes' ? payload.value.sequence : undefined,
      );
      expect(sequences).toEqual(Array.from({ length: 50 }, (_, index) => BigInt(index + 1)));
      each.cancel();
    }
  });

  it('sends heartbeats of the current report while nothing changes', async () => {
    const { connect } = await serve({ heartbeatIntervalMs: 10 });
    const subscription = new Subscription(connect());
    const [, , first, second] = await subscription.take(4);
    expect(first).toMatchObject({ $case: 'heartbeat', value: { instanceId: 'i-1' } });
    expect(second?.$case).toBe('heartbeat');
    subscription.cancel();
  });

  it('takes no more from the relay than a subscriber reads', async () => {
    const { eventReader, connect } = await serve();
    const hashes = new Uint8Array(64 * 1024);
    const part: RelayMessage = {
      type: 'snapshot_part',
      rank: 0,
      tier: 'device',
      tokensPerBlock: 32,
      sequenceHashes: hashes,
    };
    eventReader.snapshot = Array.from({ length: 1_000 }, () => part);
    const call = connect().subscribe({ resumeStreamId: '', resumeSequence: 0n, tokensPerBlock: 0 });
    const gone = new Promise((resolve) => call.once('error', resolve));
    // Stops after the first message: before that a grpc-js client takes all there is.
    await new Promise<void>((resolve) => call.once('data', () => resolve()));
    call.pause();
    let before = -1;
    let calm = 0;
    while (calm < 200) {
      calm = eventReader.taken === before ? calm + 1 : 0;
      before = eventReader.taken;
      await turns();
    }
    expect(eventReader.taken).toBeGreaterThan(0);
    expect(eventReader.taken).toBeLessThan(200);
    call.cancel();
    await gone;
  });

  it('refuses everybody above its limit with what to do, and takes the next when one has left', async () => {
    const { connect, endpoint } = await serve({ maxSubscribers: 1 });
    const first = new Subscription(connect());
    await first.next();
    const refused = await new Subscription(connect()).end();
    expect(refused?.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(refused?.details).toContain('let frontends share an aggregator');
    expect(refused && readPeerReason(refused)?.reason).toBe('too_many_watchers');
    first.cancel();
    await until(() => endpoint.subscribers === 0);
    const second = new Subscription(connect());
    expect(caseOf(await second.next())).toBe('start');
    second.cancel();
  });

  it('refuses the rest of 1,000 subscribers and goes on serving the others', async () => {
    const { eventReader, connect, endpoint } = await serve();
    const subscriptions: Subscription[] = [];
    for (let connection = 0; connection < 10; connection += 1) {
      const client = connect();
      for (let each = 0; each < 100; each += 1) subscriptions.push(new Subscription(client));
    }
    const firsts = await Promise.allSettled(subscriptions.map((each) => each.next()));
    const served = subscriptions.filter((_, index) => firsts[index]?.status === 'fulfilled');
    expect(served).toHaveLength(128);
    expect(endpoint.subscribers).toBe(128);
    await Promise.all(served.map((each) => each.next()));
    eventReader.change(stored(1));
    const received = await Promise.all(served.map((each) => each.nextButHeartbeats()));
    expect(received.every(({ $case }) => $case === 'changes')).toBe(true);
    for (const each of served) each.cancel();
  });

  it('ends in order when the sidecar does', async () => {
    const { connect, server } = await serve();
    const subscription = new Subscription(connect());
    await subscription.take(2);
    const stopped = server.stop(1_000);
    expect(await subscription.end()).toBeUndefined();
    await stopped;
  });

  it.each([
    ['a stream id that nobody can have', 'x'.repeat(513), 0n],
    ['a sequence that nobody can have', 'stream-1', 2n ** 60n],
  ])('refuses %s', async (_what, streamId, sequence) => {
    const { connect } = await serve();
    const refused = await new Subscription(connect(), streamId, sequence).end();
    expect(refused?.code).toBe(status.INVALID_ARGUMENT);
  });

  it('leaves out a time and sequence numbers that the wire does not have', async () => {
    const { eventReader, connect } = await serve();
    eventReader.ranks = [{ ...exactRank(), engineSequence: -1, unknownBeforeSequence: 0.5 }];
    const [start] = await new Subscription(connect()).take(1);
    const [rank] = start?.$case === 'start' ? start.value.ranks : [];
    expect(rank?.engineSequence).toBeUndefined();
    expect(rank?.unknownBeforeSequence).toBeUndefined();
  });
});
