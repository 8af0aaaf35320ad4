import { readFileSync } from 'node:fs';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { Router } from 'zeromq';
import { systemClock } from '../../../../src/edge/platform/clock.js';
import { sequenceFrame } from '../../../../src/tools/demo/engines/kv-publisher.js';
import {
  ReplayError,
  type ReplayedBatch,
  type ReplayLimits,
  replay,
} from '../../../../src/worker/kv-events/readers/replay-client.js';
import { loadZmqSockets, type Sockets } from '../../../../src/worker/kv-events/sockets/zmq-sockets.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { OpenThings } from '../../../support/open-things.js';
import { RecordingLogger } from '../../../support/recording-logger.js';
import { FakePublisher } from '../support/fake-publisher.js';
import { truthOf } from '../support/replica.js';
import { ScriptedPublisher } from '../support/scripted-sockets.js';

const open = new OpenThings();
afterEach(() => open.close());

let sockets: Sockets;
beforeAll(async () => {
  sockets = await loadZmqSockets({ maxMessageBytes: 1024 * 1024 }, { logger: new RecordingLogger() });
});

const END = Buffer.alloc(8, 0xff);

/** A ROUTER that answers each request with these messages, the caller's id in front. */
async function router(...replies: readonly (readonly (string | Uint8Array)[])[]): Promise<string> {
  const socket = new Router({ linger: 0 });
  open.add(() => socket.close());
  await socket.bind('tcp://127.0.0.1:0');
  void (async () => {
    try {
      for (;;) {
        const [id] = await socket.receive();
        for (const reply of replies) await socket.send([id as Buffer, ...reply]);
      }
    } catch {
      // The socket was closed.
    }
  })();
  return socket.lastEndpoint as string;
}

async function readAll(endpoint: string, start = 0, limits: ReplayLimits = {}): Promise<ReplayedBatch[]> {
  const batches: ReplayedBatch[] = [];
  const { signal } = new AbortController();
  for await (const batch of replay(endpoint, start, limits, { clock: systemClock, sockets }, signal)) {
    batches.push(batch);
  }
  return batches;
}

function recording(name: string): Buffer[][] {
  const file = new URL(`../../../fixtures/kv-events-replay/${name}.json`, import.meta.url);
  const { replies } = JSON.parse(readFileSync(file, 'utf8')) as { replies: string[][] };
  return replies.map((frames) => frames.map((frame) => Buffer.from(frame, 'hex')));
}

describe('a replay', () => {
  it.each([
    ['vllm-0.32.0', 7],
    ['sglang-0.5.23', 13],
    ['dynamo-mocker-1.6.1', 1],
    ['dynamo-mocker-1.6.1.empty', 0],
  ])('reads what %s answered', async (name, count) => {
    const batches = await readAll(await router(...recording(name)));
    expect(batches.map(({ sequence }) => sequence)).toEqual(Array.from({ length: count }, (_, at) => at));
    if (count > 0) expect(truthOf(batches.map(({ payload }) => payload)).length).toBeGreaterThan(0);
  });

  it('reads the three frames of older engines', async () => {
    const at = await router(['', sequenceFrame(4), 'four'], ['', sequenceFrame(5), 'five'], ['', END, '']);
    const batches = await readAll(at, 4);
    expect(batches.map(({ sequence, payload }) => [sequence, Buffer.from(payload).toString()])).toEqual([
      [4, 'four'],
      [5, 'five'],
    ]);
  });

  it('asks from the given sequence', async () => {
    const engine = await FakePublisher.start();
    open.add(() => engine.stop());
    for (const text of ['a', 'b', 'c']) await engine.publish(Buffer.from(text));
    const batches = await readAll(engine.replayEndpoint as string, 2);
    expect(batches.map(({ sequence }) => sequence)).toEqual([2]);
    expect(engine.asked).toEqual([2]);
  });

  it.each<readonly [string, readonly (string | Uint8Array)[]]>([
    ['one frame', ['']],
    ['two frames', ['', sequenceFrame(1)]],
    ['five frames', ['', 'topic', sequenceFrame(1), 'payload', 'more']],
    ['no delimiter', ['topic', sequenceFrame(1), 'payload']],
    ['a short sequence', ['', 'short', 'payload']],
    ['a sequence above 2^53', ['', Buffer.from('0020000000000000', 'hex'), 'payload']],
    ['an end marker with a payload', ['', END, 'payload']],
  ])('refuses %s', async (_, reply) => {
    await expect(readAll(await router(reply, ['', END, '']))).rejects.toMatchObject({
      failure: 'replay_bad_reply',
    });
  });

  it('is bounded in bytes', async () => {
    const endless = Array.from({ length: 20 }, (_, at) => ['', sequenceFrame(at), Buffer.alloc(1_000)]);
    await expect(readAll(await router(...endless), 0, { maxBytes: 5_000 })).rejects.toMatchObject({
      failure: 'replay_too_large',
      message: 'answers more than 5000 bytes',
    });
  });

  it('gives up when an answer is larger than a message may be', async () => {
    const at = await router(['', sequenceFrame(0), Buffer.alloc(2 * 1024 * 1024)], ['', END, '']);
    await expect(readAll(at, 0, { silenceTimeoutMs: 300 })).rejects.toMatchObject({
      failure: 'replay_timeout',
    });
  });

  it('says that an address cannot be asked', async () => {
    await expect(readAll('inproc://x')).rejects.toMatchObject({
      failure: 'replay_unreachable',
      message: expect.stringContaining('expected tcp://HOST:PORT'),
    });
  });

  it('waits for silence and for its end no longer than it may', async () => {
    const clock = new FakeClock();
    const mute = new ScriptedPublisher();
    const read = async (limits: ReplayLimits): Promise<unknown> => {
      const { signal } = new AbortController();
      try {
        for await (const _ of replay('tcp://127.0.0.1:1', 0, limits, { clock, sockets: mute }, signal));
        return undefined;
      } catch (error) {
        return error;
      }
    };
    const silent = read({ silenceTimeoutMs: 200 });
    await clock.advanceMs(199);
    await clock.advanceMs(1);
    expect(await silent).toEqual(new ReplayError('replay_timeout', 'does not answer within 200 ms'));
    const endless = read({ silenceTimeoutMs: 900, totalTimeoutMs: 500 });
    await clock.advanceMs(500);
    expect(await endless).toEqual(new ReplayError('replay_timeout', 'does not end within 500 ms'));
    mute.connect();
    mute.publish(Buffer.from('a'));
    mute.dropsEnd = true;
    const endsEarly = read({});
    await clock.advanceMs(499);
    await clock.advanceMs(1);
    expect(await endsEarly).toEqual(new ReplayError('replay_timeout', 'does not answer within 500 ms'));
    expect(clock.pendingTimers).toBe(0);
  });

  it('ends immediately when it is not wanted any more', async () => {
    const clock = new FakeClock();
    const closing = new AbortController();
    const batches = replay(
      'tcp://127.0.0.1:1',
      0,
      {},
      { clock, sockets: new ScriptedPublisher() },
      closing.signal,
    );
    const next = batches.next();
    closing.abort();
    await expect(next).rejects.toBeInstanceOf(ReplayError);
    expect(clock.pendingTimers).toBe(0);
  });

  it('closes its socket when its reader stops early', async () => {
    const mute = new ScriptedPublisher();
    mute.connect();
    mute.publish(Buffer.from('a'));
    mute.publish(Buffer.from('b'));
    const close = vi.fn<() => void>();
    const spied: Sockets = {
      subscribe: (source, onLink) => mute.subscribe(source, onLink),
      ask: () => {
        const socket = mute.ask();
        return {
          ...socket,
          close() {
            close();
            socket.close();
          },
        };
      },
    };
    const clock = new FakeClock();
    const { signal } = new AbortController();
    for await (const { sequence } of replay('tcp://127.0.0.1:1', 0, {}, { clock, sockets: spied }, signal)) {
      expect(sequence).toBe(0);
      break;
    }
    expect(close).toHaveBeenCalledOnce();
    expect(clock.pendingTimers).toBe(0);
  });
});
