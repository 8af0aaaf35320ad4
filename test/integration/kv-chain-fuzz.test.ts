import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '../../src/edge/platform/random.js';
import { SubscribeResponse } from '../../src/gen/kvaccord/v1/kv_events.js';
import {
  EngineEventReader,
  type EngineEventReaderOptions,
} from '../../src/worker/kv-events/engine-event-reader.js';
import type { Frames } from '../../src/worker/kv-events/sockets/zmq-sockets.js';
import { FakeClock } from '../support/fake-clock.js';
import { pack, say } from '../support/kv-events.js';
import { propertyRuns } from '../support/property-runs.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { turns } from '../support/turns.js';
import { ChainBlocks } from './support/kv-chain-blocks.js';
import { type CacheStep, RankEngine } from './support/kv-chain-engine.js';
import { HostileFleet, WIDTH } from './support/kv-chain-hostile-fleet.js';
import { hostileSockets } from './support/kv-chain-hostile-sockets.js';

const MIB = 1024 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes that this process holds on to. */
function heldBytes(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const bytes = fc.uint8Array({ maxLength: 64 });

/** Heads that claim gigantic lengths, and what comes after them. */
const giant = fc
  .tuple(
    fc.constantFrom(0xc6, 0xc9, 0xdb, 0xdd, 0xdf),
    fc.constantFrom(0x7fff_ffff, 0xffff_ffff, 0x0010_0000),
    bytes,
  )
  .map(([head, length, rest]) => {
    const claimed = Buffer.alloc(5);
    claimed[0] = head;
    claimed.writeUInt32BE(length, 1);
    return Buffer.concat([claimed, rest]);
  });

const deep = fc
  .tuple(fc.constantFrom(0x91, 0x81, 0xdc), fc.integer({ min: 1, max: 20_000 }))
  .map(([head, depth]) => Buffer.alloc(depth, head));

/** What an engine says, with bytes changed, left out, or put in. */
function spoiled(payloads: readonly Uint8Array[]): fc.Arbitrary<Uint8Array> {
  const change = fc.record({ at: fc.nat(2_000), gone: fc.nat(4), put: fc.oneof(bytes, giant, deep) });
  return fc
    .tuple(fc.constantFrom(...payloads), fc.array(change, { maxLength: 3 }))
    .map(([payload, changes]) =>
      changes.reduce<Uint8Array>((old, { at, gone, put }) => {
        const start = at % (old.length + 1);
        return Buffer.concat([old.subarray(0, start), put, old.subarray(start + gone)]);
      }, payload),
    );
}

const sequenceFrame = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 30 }).map((sequence) => number(BigInt(sequence))) },
  {
    weight: 1,
    arbitrary: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((sequence) => number(sequence)),
  },
  { weight: 1, arbitrary: bytes },
);

function number(value: bigint): Uint8Array {
  const frame = Buffer.alloc(8);
  frame.writeBigUInt64BE(value);
  return frame;
}

function anyFrames(payloads: readonly Uint8Array[]): fc.Arbitrary<Frames> {
  const payload = fc.oneof({ weight: 6, arbitrary: spoiled(payloads) }, giant, deep, bytes);
  return fc.oneof(
    { weight: 8, arbitrary: fc.tuple(bytes, sequenceFrame, payload) },
    { weight: 1, arbitrary: fc.array(bytes, { maxLength: 5 }) },
    // As an answer of a ROUTER.
    { weight: 2, arbitrary: fc.tuple(fc.constant(new Uint8Array()), sequenceFrame, payload) },
    {
      weight: 1,
      arbitrary: fc.constant<Frames>([
        new Uint8Array(),
        new Uint8Array(),
        Buffer.alloc(8, 0xff),
        new Uint8Array(),
      ]),
    },
  );
}

let payloads: readonly Uint8Array[];

beforeAll(async () => {
  const engine = new RankEngine(
    { events: 'map', batch: 'array', hashes: 'bytes', salt: 'extra_keys' },
    await ChainBlocks.create(),
  );
  const life: readonly CacheStep[] = [
    { do: 'prompt', namespace: 3, path: [0, 1, 2] },
    { do: 'prompt', namespace: 0, path: [0, 1, 2, 0] },
    { do: 'offload', tier: 'host', pick: 2, count: 3, isTold: true },
    { do: 'evict', tier: 'device', pick: 1, count: 2 },
    { do: 'clear' },
  ];
  for (const step of life) engine.publish([step]);
  payloads = engine.payloads;
});

/** A reader of one rank over sockets that say what they like. */
async function sourceOf(
  live: readonly Frames[],
  answers: readonly Frames[] | undefined,
  options: EngineEventReaderOptions = {},
): Promise<{ readonly eventReader: EngineEventReader; end(): Promise<void> }> {
  const clock = new FakeClock();
  const eventReader = new EngineEventReader(options, {
    clock,
    random: systemRandom,
    logger: new RecordingLogger(),
    onObserved: () => {},
    onPublisherRestart: () => {},
    sockets: hostileSockets(live, answers ?? []),
  });
  eventReader.setInstance('i-1');
  const replay = answers === undefined ? {} : { replayEndpoint: 'tcp://engine:1' };
  eventReader.setSources([{ rank: 0, endpoint: 'tcp://engine:2', topic: '', ...replay }]);
  while (eventReader.ranks[0]?.reason === 'its events are not read yet') await turns();
  await turns();
  return {
    eventReader,
    end: async () => {
      for (let second = 0; second < 40; second += 1) {
        await clock.advanceMs(1_000);
        await turns();
      }
      await eventReader.close();
      expect(clock.pendingTimers).toBe(0);
    },
  };
}

describe('a reader whose engine says anything', () => {
  it('counts every message and goes on', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.constant(0).chain(() => anyFrames(payloads)),
          { maxLength: 40 },
        ),
        async (live) => {
          const { eventReader, end } = await sourceOf(live, undefined);
          const { refused, batches, duplicates } = eventReader.streamCounts;
          await end();
          expect(refused.frame_count + refused.sequence + batches + duplicates).toBe(live.length);
          expect(eventReader.counts.entries().every(({ total }) => Number.isSafeInteger(total))).toBe(true);
        },
      ),
      { numRuns: propertyRuns(60) },
    );
  });

  it('goes on, too, when its replay socket does the same', async () => {
    const some = fc.array(
      fc.constant(0).chain(() => anyFrames(payloads)),
      { maxLength: 25 },
    );
    await fc.assert(
      fc.asyncProperty(some, some, async (live, answers) => {
        const { eventReader, end } = await sourceOf(live, answers);
        await end();
        const { refused, batches, duplicates, replayedBatches } = eventReader.streamCounts;
        const taken = refused.frame_count + refused.sequence + duplicates + batches - replayedBatches;
        expect(taken).toBe(live.length);
      }),
      { numRuns: propertyRuns(50) },
    );
  });

  it('keeps no more of it than its bound on blocks, however much is claimed', async () => {
    const claims = fc.sample(fc.oneof(giant, deep, spoiled(payloads)), { numRuns: 3_000, seed: 1 });
    const large = Buffer.concat([
      Buffer.from([0x93, 0x00, 0xdd, 0x00, 0x20, 0x00, 0x00]),
      Buffer.alloc(2 * MIB, 0x90),
    ]);
    const live = [...claims, large, large].map(
      (payload, at): Frames => [Buffer.of(0xff, 0xfe), number(BigInt(at)), payload],
    );
    const warm = await sourceOf(live.slice(0, 100), undefined, { maxBlocks: 10_000 });
    await warm.end();
    const before = heldBytes();
    const { eventReader, end } = await sourceOf(live, undefined, { maxBlocks: 10_000 });
    expect(eventReader.streamCounts.batches).toBe(live.length);
    expect(heldBytes() - before).toBeLessThan(16 * MIB);
    expect(eventReader.counts.total('other', 'undecodable')).toBeGreaterThan(1_000);
    await end();
  });
});

const rank = fc.oneof(fc.nat(2), fc.constantFrom(1_023, 1_024, 0x7fff_ffff, 0xffff_ffff));
const wireTier = fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constantFrom(0, 5, 99, -1));
const width = fc.oneof(fc.constant(WIDTH), fc.constantFrom(0, 1, 0xffff_ffff));
const wireSequence = fc.oneof(
  fc.nat(6).map(BigInt),
  fc.constantFrom(2n ** 53n - 1n, 2n ** 53n, 2n ** 64n - 1n),
);
const packed = fc.oneof(
  { weight: 6, arbitrary: fc.array(fc.nat(20), { maxLength: 6 }).map((hashes) => pack(hashes)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 40 }).map((odd) => Buffer.from(odd)) },
  { weight: 1, arbitrary: fc.nat(255).map((filled) => Buffer.alloc(MIB, filled)) },
);
const wireStatus = fc.record({
  dataParallelRank: rank,
  picture: fc.oneof(fc.nat(6), fc.constantFrom(99, -1)),
  unknownBeforeSequence: fc.option(wireSequence, { nil: undefined }),
  engineSequence: fc.option(wireSequence, { nil: undefined }),
  reason: fc.oneof(fc.string(), fc.constant('x'.repeat(5_000))),
  blockCount: wireSequence,
  cacheGroups: fc.array(
    fc.record({
      index: fc.oneof(fc.nat(2), fc.constantFrom(2_000, 0xffff_ffff)),
      kind: fc.oneof(fc.nat(5), fc.constantFrom(99, -1)),
      tokensPerBlock: width,
      windowTokens: fc.option(fc.constantFrom(0, 1, 128, 0xffff_ffff), { nil: undefined }),
      engineKind: fc.constantFrom('', 'sliding_window', 'x'.repeat(5_000)),
    }),
    { maxLength: 3 },
  ),
});
const stored = fc.record({ tier: wireTier, tokensPerBlock: width, sequenceHashes: packed });
const change = fc.oneof(
  { weight: 4, arbitrary: stored.map((value) => ({ change: { $case: 'stored', value } })) },
  {
    weight: 2,
    arbitrary: fc
      .record({ tier: wireTier, sequenceHashes: packed })
      .map((value) => ({ change: { $case: 'removed', value } })),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ cacheGroup: fc.nat(3), stored: fc.option(stored, { nil: undefined }) })
      .map((value) => ({ change: { $case: 'groupStored', value } })),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ cacheGroup: fc.nat(3), removed: fc.record({ tier: wireTier, sequenceHashes: packed }) })
      .map((value) => ({ change: { $case: 'groupRemoved', value } })),
  },
  { weight: 1, arbitrary: fc.constant({ change: { $case: 'cleared', value: {} } }) },
  { weight: 1, arbitrary: fc.constant({ change: undefined }) },
);
const wireMessage = fc
  .oneof(
    fc
      .record({
        workerId: fc.constant('w'),
        instanceId: fc.constantFrom('i-1', 'i-1', 'i-1', 'i-2', '', 'i'.repeat(600)),
        streamId: fc.constantFrom('s-1', 's-1', 's-2', ''),
        resumed: fc.boolean(),
        tokensPerBlock: fc.constantFrom(0, 0, 0, 16, 32, 2 ** 32 - 1),
        reason: fc.string(),
        ranks: fc.oneof(
          fc.array(wireStatus, { maxLength: 3 }),
          wireStatus.map((one) =>
            Array.from({ length: 1_100 }, (_, at) => ({ ...one, dataParallelRank: at })),
          ),
        ),
      })
      .map((value) => ({ $case: 'start', value })),
    fc
      .record({ dataParallelRank: rank, tier: wireTier, tokensPerBlock: width, sequenceHashes: packed })
      .map((value) => ({ $case: 'snapshotPart', value })),
    fc
      .record({
        cacheGroup: fc.nat(3),
        part: fc.record({
          dataParallelRank: rank,
          tier: wireTier,
          tokensPerBlock: width,
          sequenceHashes: packed,
        }),
      })
      .map((value) => ({ $case: 'groupSnapshotPart', value })),
    wireSequence.map((sequence) => ({ $case: 'snapshotEnd', value: { sequence } })),
    fc
      .record({
        sequence: wireSequence,
        dataParallelRank: rank,
        changes: fc.array(change, { maxLength: 4 }),
        enginePublishedAt: fc.constantFrom(undefined, new Date(0), new Date(8.64e15)),
      })
      .map((value) => ({ $case: 'changes', value })),
    wireStatus.map((value) => ({ $case: 'rankState', value })),
    fc.constant(undefined),
  )
  .map((payload) =>
    Buffer.from(SubscribeResponse.encode({ payload } as unknown as SubscribeResponse).finish()),
  );

const encode = (message: SubscribeResponse): Buffer =>
  Buffer.from(SubscribeResponse.encode(message).finish());

/** What a sidecar may say: something that fits, something that does not, or bytes of any kind. */
const hostile = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(encode(say.start({ instance: 'i-1' })), encode(say.end())) },
  { weight: 6, arbitrary: wireMessage },
  {
    weight: 2,
    arbitrary: fc.tuple(wireMessage, fc.nat(500), fc.nat(255)).map(([message, at, byte]) => {
      const copy = Buffer.from(message);
      if (copy.length > 0) copy[at % copy.length] = byte;
      return copy;
    }),
  },
  { weight: 1, arbitrary: bytes.map((some) => Buffer.from(some)) },
);

describe('an index whose worker says anything', () => {
  it('credits others exactly as before, stays within its memory, and forgets the worker when it leaves', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(hostile, { maxLength: 60, size: 'max' }), async (messages) => {
        const fleet = new HostileFleet();
        try {
          const honest = fleet.answer();
          expect(honest).toEqual(['honest 4']);
          for (const message of messages) {
            await fleet.say(message);
            expect(fleet.answer()).toEqual(honest);
          }
          expect(fleet.memoryBytes).toBeLessThanOrEqual(fleet.maxBytes);
          await fleet.leave();
          expect(fleet.holders()).toEqual(['honest']);
          expect(fleet.blocks).toBe(4);
        } finally {
          fleet.close();
        }
      }),
      { numRuns: propertyRuns(25) },
    );
  });
});
