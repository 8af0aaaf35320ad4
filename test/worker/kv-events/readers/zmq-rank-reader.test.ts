import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Timer } from '../../../../src/edge/platform/clock.js';
import { systemRandom } from '../../../../src/edge/platform/random.js';
import { EngineEventReader } from '../../../../src/worker/kv-events/engine-event-reader.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { OpenThings } from '../../../support/open-things.js';
import { RecordingLogger } from '../../../support/recording-logger.js';
import { turns } from '../../../support/turns.js';
import { batchOf, stored } from '../support/fake-publisher.js';
import { Replica, truthOf } from '../support/replica.js';
import { ScriptedPublisher } from '../support/scripted-sockets.js';

const open = new OpenThings();
afterEach(() => open.close());

interface Followed {
  readonly publisher: ScriptedPublisher;
  readonly replica: Replica;
  readonly eventReader: EngineEventReader;
  /** Lets time go by, and all that falls due in it. */
  advance(ms: number): Promise<void>;
  /** A batch arrives under a number, whatever the engine keeps under it. */
  arrive(sequence: number, payload: Uint8Array): Promise<void>;
}

/** A reader of one rank, by default with a replay socket, that is not connected yet. */
async function follow({
  onObserved = () => {},
  hasReplay = true,
  clock = new FakeClock(),
}: {
  onObserved?: () => void;
  hasReplay?: boolean;
  clock?: FakeClock;
} = {}): Promise<Followed> {
  const publisher = new ScriptedPublisher();
  const eventReader = new EngineEventReader(
    {},
    {
      clock,
      random: systemRandom,
      logger: new RecordingLogger(),
      onObserved,
      onPublisherRestart: () => {},
      sockets: publisher,
    },
  );
  open.add(async () => {
    await eventReader.close();
    expect(clock.pendingTimers).toBe(0);
  });
  eventReader.setInstance('i-1');
  const replay = hasReplay ? { replayEndpoint: 'tcp://127.0.0.1:1' } : {};
  eventReader.setSources([{ rank: 0, endpoint: 'tcp://127.0.0.1:2', topic: '', ...replay }]);
  await vi.waitFor(() => expect(eventReader.ranks[0]?.reason).toContain('no connection'));
  const replica = new Replica(eventReader);
  const advance = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 500) {
      await turns();
      await clock.advanceMs(Math.min(500, left));
    }
    await turns();
  };
  return {
    publisher,
    replica,
    eventReader,
    advance,
    arrive: async (sequence, payload) => {
      const kept = publisher.payloads;
      publisher.payloads = [];
      publisher.payloads[sequence] = payload;
      publisher.again(sequence);
      publisher.payloads = kept;
      await turns();
    },
  };
}

describe('the reader of a rank on whose batch this program fails', () => {
  it('counts it, builds the cache view again after a pause, and goes on', async () => {
    let faults = 1;
    const { publisher, replica, eventReader, advance } = await follow({
      onObserved: () => {
        faults -= 1;
        if (faults === 0) throw new RangeError('Invalid time value');
      },
    });
    publisher.connect();
    await advance(500);
    publisher.publish(batchOf(stored(10)));
    await advance(500);
    expect(eventReader.ranks[0]).toMatchObject({
      picture: 'none',
      reason: expect.stringContaining('this program failed'),
    });
    await advance(2_000);
    publisher.publish(batchOf(stored(20)));
    await advance(500);
    expect(eventReader.streamCounts.refused.fault).toBe(1);
    expect(eventReader.ranks[0]).toMatchObject({ picture: 'exact' });
    expect(replica.blocks).toEqual(truthOf(publisher.payloads));
  });
});

describe('the reader of a rank at a restart of its engine', () => {
  it('does not apply a batch of the old engine that arrives after the new one has been replayed', async () => {
    const { publisher, replica, eventReader, advance, arrive } = await follow();
    publisher.connect();
    const old = batchOf(stored(10));
    publisher.publish(old);
    await advance(500);
    publisher.restart();
    publisher.publish(batchOf(stored(20)));
    publisher.connect();
    await advance(500);
    expect(replica.blocks).toEqual(truthOf(publisher.payloads));
    await arrive(0, old);
    expect(eventReader.ranks[0]).toMatchObject({ picture: 'exact', blockCount: 1 });
    expect(replica.blocks).toEqual(truthOf(publisher.payloads));
  });

  it('holds nothing of an old engine on when the new one counts from 0 and answers no replay', async () => {
    const { publisher, replica, eventReader, advance, arrive } = await follow();
    publisher.answers = false;
    publisher.connect();
    await advance(10_000);
    await arrive(5, batchOf(stored(10)));
    expect(eventReader.ranks[0]).toMatchObject({ picture: 'partial', unknownBeforeSequence: 5 });
    publisher.restart();
    publisher.connect();
    await advance(10_000);
    publisher.publish(batchOf(stored(20)));
    await advance(10_000);
    expect(eventReader.streamCounts.publisherRestarts).toBe(1);
    expect(replica.blocks).toEqual(truthOf(publisher.payloads));
  });

  it('is exact after a replay from 0 although the engine before was known from a later batch only', async () => {
    const { publisher, replica, eventReader, advance, arrive } = await follow();
    publisher.answers = false;
    publisher.connect();
    await advance(10_000);
    await arrive(1, batchOf(stored(10)));
    publisher.restart();
    publisher.answers = true;
    for (const hash of [20, 30, 40]) publisher.publish(batchOf(stored(hash)));
    await advance(20_000);
    publisher.connect();
    await advance(500);
    expect(eventReader.ranks[0]).toMatchObject({ picture: 'exact', blockCount: 3 });
    expect(replica.blocks).toEqual(truthOf(publisher.payloads));
  });

  it('restarts for a new engine start when there may have been two since the last one had a name', async () => {
    const { publisher, replica, eventReader, advance } = await follow();
    publisher.connect();
    publisher.publish(batchOf(stored(10)));
    await advance(500);
    publisher.restart();
    publisher.publish(batchOf(stored(20)));
    publisher.connect();
    await advance(500);
    expect(eventReader.streamCounts.publisherRestarts).toBe(1);
    publisher.restart();
    publisher.answers = false;
    publisher.publish(batchOf(stored(30)));
    publisher.connect();
    eventReader.setInstance('i-3');
    await advance(500);
    expect(replica.blocks).toEqual([]);
  });

  it('reads nothing on of an engine that has gone, and takes it for no start of the next', async () => {
    const { publisher, replica, eventReader, advance, arrive } = await follow();
    publisher.answers = false;
    publisher.connect();
    await advance(10_000);
    await arrive(5, batchOf(stored(10)));
    // Older than all that is known, and read when its engine has gone.
    publisher.payloads = [batchOf(stored(20))];
    publisher.again(0);
    publisher.restart();
    await advance(4_000);
    expect(eventReader.streamCounts.publisherRestarts).toBe(0);
    eventReader.setInstance('i-2');
    await advance(500);
    expect(replica.blocks).toEqual([]);
  });
});

describe('the reader of a rank whose connection broke', () => {
  it('is stale from the break on, and exact as soon as the same publisher has given what was missed', async () => {
    const { publisher, replica, eventReader, advance } = await follow();
    publisher.connect();
    publisher.publish(batchOf(stored(10)));
    await advance(500);
    expect(eventReader.ranks[0]?.picture).toBe('exact');
    publisher.disconnect();
    expect(eventReader.ranks[0]).toMatchObject({
      picture: 'stale',
      blockCount: 1,
      reason: 'the connection to tcp://127.0.0.1:2 is interrupted',
    });
    expect(replica.statuses.get(0)?.picture).toBe('stale');
    publisher.publish(batchOf(stored(20)));
    publisher.connect();
    expect(replica.statuses.get(0)?.picture).toBe('stale');
    await advance(500);
    expect(replica.statuses.get(0)).toMatchObject({ picture: 'exact', reason: '' });
    expect(replica.blocks).toEqual(truthOf(publisher.payloads));
  });

  it('believes nothing of what it held, without a replay endpoint, for a first batch whose number is due', async () => {
    const { publisher, replica, eventReader, advance } = await follow({ hasReplay: false });
    publisher.connect();
    await advance(500);
    publisher.publish(batchOf(stored(10)));
    await advance(500);
    expect(eventReader.ranks[0]?.picture).toBe('exact');
    publisher.restart();
    publisher.publish(batchOf(stored(20)));
    publisher.connect();
    await advance(500);
    publisher.publish(batchOf(stored(30)));
    await advance(500);
    expect(eventReader.ranks[0]).toMatchObject({
      picture: 'partial',
      unknownBeforeSequence: 1,
      reason:
        'what the engine stored before its batch 1 is unknown (the connection to tcp://127.0.0.1:2 was interrupted, and the source has no replay endpoint)',
    });
    expect(truthOf(publisher.payloads)).toEqual(expect.arrayContaining(replica.blocks));
  });

  it('stays stale while nobody answers, for whatever comes that is due', async () => {
    const { publisher, replica, eventReader, advance } = await follow();
    publisher.connect();
    publisher.publish(batchOf(stored(10)));
    await advance(500);
    publisher.restart();
    publisher.answers = false;
    publisher.publish(batchOf(stored(20)));
    publisher.connect();
    await advance(500);
    publisher.publish(batchOf(stored(30)));
    await advance(8_000);
    expect(eventReader.ranks[0]).toMatchObject({ picture: 'stale', engineSequence: 1, blockCount: 2 });
    publisher.answers = true;
    await advance(5_000);
    expect(eventReader.ranks[0]).toMatchObject({ picture: 'exact', blockCount: 2 });
    expect(replica.blocks).toEqual(truthOf(publisher.payloads));
  });

  it('takes no batch that came after the break for a proof that the publisher is the same', async () => {
    const { publisher, replica, eventReader, advance } = await follow();
    publisher.connect();
    publisher.publish(batchOf(stored(10)));
    await advance(500);
    publisher.restart();
    publisher.answers = false;
    publisher.publish(batchOf(stored(20)));
    publisher.connect();
    await advance(500);
    publisher.publish(batchOf(stored(30)));
    await advance(8_000);
    // The new engine does not keep the batch any more that would show that it is another one.
    publisher.bufferSteps = 1;
    publisher.answers = true;
    await advance(40_000);
    expect(eventReader.ranks[0]).toMatchObject({ picture: 'partial', unknownBeforeSequence: 1 });
    expect(truthOf(publisher.payloads)).toEqual(expect.arrayContaining(replica.blocks));
  });

  it('begins with no older batch that is repeated after a gap', async () => {
    const { publisher, eventReader, advance, arrive } = await follow({ hasReplay: false });
    publisher.connect();
    await advance(500);
    publisher.publish(batchOf(stored(10)));
    await arrive(4, batchOf(stored(50)));
    expect(eventReader.ranks[0]).toMatchObject({ picture: 'partial', unknownBeforeSequence: 4 });
    publisher.disconnect();
    publisher.connect();
    publisher.again(0);
    await advance(500);
    expect(eventReader.ranks[0]).toMatchObject({ picture: 'partial', blockCount: 0 });
  });
});

/** Time passes with every look at this clock, so that all work takes some. */
class WorkingClock extends FakeClock {
  /** Runs whenever others get their turn. */
  onTurn: () => void = () => {};
  #looks = 0;

  override monotonicMs(): number {
    this.#looks += 1;
    return super.monotonicMs() + this.#looks;
  }

  override setTimer(delayMs: number, fire: () => void): Timer {
    return super.setTimer(delayMs, () => {
      if (delayMs === 0) this.onTurn();
      fire();
    });
  }
}

describe('the reader of a rank with a batch that takes long', () => {
  const clears = Array.from({ length: 20_000 }, () => ['AllBlocksCleared']);

  /** A reader that holds a block and is in the middle of a batch that clears, stores and removes. */
  async function inTheMiddle(): Promise<Followed & { readonly clock: WorkingClock }> {
    const clock = new WorkingClock();
    const followed = await follow({ clock });
    const { publisher, replica, eventReader, advance } = followed;
    publisher.connect();
    publisher.publish(batchOf(stored(10)));
    await advance(500);
    expect(replica.blocks).toEqual(truthOf(publisher.payloads));
    publisher.publish(batchOf(...clears, stored(20), ...clears, stored(30)));
    await turns();
    expect(eventReader.ranks[0]?.engineSequence).toBe(0);
    return { ...followed, clock };
  }

  it('gives others their turn many times, and its readers all of the batch in one piece', async () => {
    const { publisher, replica, eventReader, clock, advance } = await inTheMiddle();
    const before = replica.blocks;
    let turns = 0;
    clock.onTurn = () => {
      if (eventReader.ranks[0]?.engineSequence !== 0) return;
      turns += 1;
      expect(replica.blocks).toEqual(before);
    };
    await advance(500);
    expect(turns).toBeGreaterThan(10);
    expect(eventReader.ranks[0]).toMatchObject({ picture: 'exact', engineSequence: 1, blockCount: 1 });
    expect(replica.blocks).toEqual(truthOf(publisher.payloads));
  });

  it('gives a reader that begins in the middle what the engine holds in the end', async () => {
    const { publisher, eventReader, advance } = await inTheMiddle();
    const late = new Replica(eventReader);
    await advance(500);
    expect(late.blocks).toEqual(truthOf(publisher.payloads));
  });

  it('leaves the rest of it when another engine start is reported, and takes nothing of it over', async () => {
    const { publisher, replica, eventReader, advance } = await inTheMiddle();
    publisher.payloads = [batchOf(stored(40))];
    eventReader.setInstance('i-2');
    expect(replica.blocks).toEqual([]);
    await advance(20_000);
    expect(eventReader.ranks[0]).toMatchObject({ picture: 'exact', blockCount: 1 });
    expect(replica.blocks).toEqual(truthOf(publisher.payloads));
  });

  it('does not call exact what its readers hold before a clear of all blocks has reached them', async () => {
    const clock = new WorkingClock();
    const { publisher, replica, eventReader, advance } = await follow({ clock });
    publisher.connect();
    publisher.publish(batchOf(stored(10)));
    publisher.publish(new Uint8Array([0xc1]));
    publisher.publish(batchOf(stored(20)));
    await advance(500);
    expect(replica.statuses.get(0)?.picture).toBe('partial');
    const seen = new Set<string | undefined>();
    clock.onTurn = () => {
      if (eventReader.ranks[0]?.engineSequence === 2) seen.add(eventReader.ranks[0].picture);
    };
    publisher.publish(batchOf(...clears, stored(30), ...clears));
    await advance(500);
    expect([...seen]).toEqual(['partial']);
    expect(replica.statuses.get(0)?.picture).toBe('exact');
    expect(replica.blocks).toEqual([]);
  });

  it('ends in the middle of it', async () => {
    const { eventReader, clock } = await inTheMiddle();
    await eventReader.close();
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('the reader of a rank whose connection comes and goes faster than it looks at the replay socket', () => {
  it('looks all the same', async () => {
    const { publisher, advance } = await follow();
    publisher.connect();
    publisher.publish(batchOf(stored(10)));
    await advance(500);
    publisher.refuses = true;
    publisher.asked = 0;
    const returns = 20;
    for (let at = 0; at < returns; at += 1) {
      publisher.disconnect();
      publisher.connect();
      await advance(500);
    }
    // One look for each return, and those of every second.
    expect(publisher.asked).toBeGreaterThan(returns + 5);
  });
});

describe('the reader of a rank that has heard nothing', () => {
  it.each([true, false])(
    'says that only a first batch is missing (a replay endpoint: %s)',
    async (hasReplay) => {
      const { publisher, eventReader, advance } = await follow({ hasReplay });
      expect(eventReader.ranks[0]?.awaitsFirstBatch).toBeUndefined();
      publisher.connect();
      await advance(500);
      expect(eventReader.ranks[0]).toMatchObject({ picture: 'partial', awaitsFirstBatch: true });
      publisher.publish(batchOf(stored(10)));
      await advance(500);
      expect(eventReader.ranks[0]).toMatchObject({ picture: 'exact' });
      expect(eventReader.ranks[0]?.awaitsFirstBatch).toBeUndefined();
    },
  );

  it('does not say so of a batch in the middle, nor of a replay endpoint that does not answer', async () => {
    const { publisher, eventReader, advance, arrive } = await follow();
    publisher.answers = false;
    publisher.connect();
    await advance(10_000);
    expect(eventReader.ranks[0]).toMatchObject({ picture: 'partial' });
    expect(eventReader.ranks[0]?.awaitsFirstBatch).toBeUndefined();
    await arrive(5, batchOf(stored(10)));
    expect(eventReader.ranks[0]).toMatchObject({ picture: 'partial', unknownBeforeSequence: 5 });
    expect(eventReader.ranks[0]?.awaitsFirstBatch).toBeUndefined();
  });
});
