import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemRandom } from '../../../../src/edge/platform/random.js';
import { EngineEventReader } from '../../../../src/worker/kv-events/engine-event-reader.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { OpenThings } from '../../../support/open-things.js';
import { RecordingLogger } from '../../../support/recording-logger.js';
import { Replica } from '../support/replica.js';

const open = new OpenThings();
afterEach(() => open.close());

const URL = 'http://127.0.0.1:8000/kv_cache_events';

/** An engine whose answers the test puts in a row; each is given once. */
async function drain(...answers: readonly (string | Error)[]): Promise<{
  readonly eventReader: EngineEventReader;
  readonly replica: Replica;
  readonly asked: string[];
  readonly restarts: () => number;
  answer(body: string | Error): Promise<void>;
}> {
  const clock = new FakeClock();
  const waiting = [...answers];
  const asked: string[] = [];
  let restarts = 0;
  const eventReader = new EngineEventReader(
    {},
    {
      clock,
      random: systemRandom,
      logger: new RecordingLogger(),
      onObserved: () => {},
      onPublisherRestart: () => {
        restarts += 1;
      },
      postJson: async (url) => {
        asked.push(url);
        const answer = waiting.shift() ?? '[]';
        if (answer instanceof Error) throw answer;
        return answer;
      },
    },
  );
  open.add(async () => {
    await eventReader.close();
    expect(clock.pendingTimers).toBe(0);
  });
  eventReader.setInstance('i-1');
  eventReader.setSources([{ kind: 'trtllm-drain', rank: 0, url: URL, tokensPerBlock: 2 }]);
  const replica = new Replica(eventReader);
  await vi.waitFor(() => expect(asked.length).toBeGreaterThan(0));
  await clock.advanceMs(0);
  return {
    eventReader,
    replica,
    asked,
    restarts: () => restarts,
    async answer(body) {
      waiting.push(body);
      await clock.advanceMs(500);
    },
  };
}

function created(id: number): object {
  return { event_id: id, data: { type: 'created', num_blocks_per_cache_level: [100, 0] }, window_size: 4096 };
}

/** One block of two tokens. The hash is text, so that 64 bits stay what they are. */
function storedEvent(id: number, hash: string, parent: string | null = null): string {
  return (
    `{"event_id":${id},"data":{"type":"stored","parent_hash":${parent},"blocks":[{"type":"stored_block",` +
    `"block_hash":${hash},"tokens":[{"type":"unique_token","token_id":1,"token_extra_id":0},` +
    `{"type":"unique_token","token_id":${id},"token_extra_id":0}],"cache_level":0,"priority":35}]},"window_size":4096}`
  );
}

function removedEvent(id: number, hash: string): string {
  return `{"event_id":${id},"data":{"type":"removed","block_hashes":[${hash}]},"window_size":4096}`;
}

function list(...events: readonly (string | object)[]): string {
  return `[${events.map((event) => (typeof event === 'string' ? event : JSON.stringify(event))).join(',')}]`;
}

describe('the drain of TensorRT-LLM', () => {
  it('is exact from event 0 on, and keeps hashes of 64 bits apart', async () => {
    const { eventReader, replica, answer, asked } = await drain();
    expect(eventReader.ranks[0]).toMatchObject({ picture: 'none' });
    await answer(
      list(created(0), storedEvent(1, '9223372036854775807'), storedEvent(2, '9223372036854775806')),
    );
    expect(eventReader.ranks[0]).toMatchObject({
      picture: 'exact',
      engineSequence: 2,
      blockCount: 2,
      reason: '',
    });
    await answer(list(removedEvent(3, '9223372036854775806')));
    expect(replica.blocks).toHaveLength(1);
    expect(asked.every((url) => url === URL)).toBe(true);
  });

  it('is partial when it comes late', async () => {
    const { eventReader, answer } = await drain();
    await answer(list(storedEvent(7, '11'), storedEvent(8, '12')));
    expect(eventReader.ranks[0]).toMatchObject({
      picture: 'partial',
      unknownBeforeSequence: 7,
      engineSequence: 8,
      reason: 'what the engine stored before its event 7 is unknown',
    });
  });

  it('empties the cache view when events are missing, and counts the gap', async () => {
    const { eventReader, replica, answer } = await drain();
    await answer(list(created(0), storedEvent(1, '11')));
    await answer(list(storedEvent(2, '12'), storedEvent(5, '15')));
    expect(eventReader.ranks[0]).toMatchObject({
      picture: 'partial',
      unknownBeforeSequence: 5,
      blockCount: 1,
    });
    expect(replica.blocks).toHaveLength(1);
    expect(eventReader.streamCounts.gaps.no_replay_endpoint).toBe(1);
  });

  it('takes a number that goes back for another engine', async () => {
    const { eventReader, replica, answer, restarts } = await drain();
    await answer(list(created(0), storedEvent(1, '11'), storedEvent(2, '12')));
    await answer(list(created(0), storedEvent(1, '21')));
    expect(restarts()).toBe(1);
    expect(eventReader.ranks[0]).toMatchObject({ picture: 'exact', engineSequence: 1 });
    expect(replica.blocks).toHaveLength(1);
  });

  it('is not exact any more after a failure, keeps what it knows through some, and drops it after many', async () => {
    const { eventReader, answer } = await drain();
    await answer(list(created(0), storedEvent(1, '11')));
    for (const body of [new Error('refused'), 'no JSON', '{}']) {
      await answer(body);
      expect(eventReader.ranks[0]).toMatchObject({
        picture: 'stale',
        blockCount: 1,
        reason: `cannot read ${URL}: refused`,
      });
    }
    // Another engine start that has nothing to tell yet, or whose number is due, answers just so.
    for (const events of [list(), list(storedEvent(2, '12'))]) {
      await answer(events);
      expect(eventReader.ranks[0]?.picture).toBe('stale');
    }
    for (let failure = 0; failure < 20; failure += 1) await answer(new Error('refused'));
    expect(eventReader.ranks[0]).toMatchObject({
      picture: 'none',
      blockCount: 0,
      reason: `cannot read ${URL}: refused`,
    });
    await answer(list(created(0), storedEvent(1, '11')));
    expect(eventReader.ranks[0]).toMatchObject({ picture: 'exact', reason: '' });
  });

  it.each(['[{}]', '[1, null, {"event_id": -1}]'])(
    'credits nothing more after events like %s, which are lost now',
    async (body) => {
      const { eventReader, replica, answer } = await drain();
      await answer(list(created(0), storedEvent(1, '11')));
      await answer(body);
      expect(eventReader.ranks[0]).toMatchObject({
        picture: 'partial',
        blockCount: 0,
        reason: 'some of its KV events could not be read: what it held before them is unknown',
      });
      expect(replica.blocks).toHaveLength(0);
    },
  );

  it('reads nothing when nothing may read', async () => {
    const eventReader = new EngineEventReader(
      {},
      {
        clock: new FakeClock(),
        random: systemRandom,
        logger: new RecordingLogger(),
        onObserved: () => {},
        onPublisherRestart: () => {},
      },
    );
    open.add(() => eventReader.close());
    eventReader.setSources([{ kind: 'trtllm-drain', rank: 0, url: URL }]);
    await vi.waitFor(() =>
      expect(eventReader.ranks[0]?.reason).toBe(
        'nothing here may read an endpoint that loses what it answers',
      ),
    );
  });
});
