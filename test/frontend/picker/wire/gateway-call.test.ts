import { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { EventLoop } from '../../../../src/edge/platform/time/event-loop.js';
import { GatewayCall, type GrpcCall } from '../../../../src/frontend/picker/wire/gateway-call.js';
import { bodyAnswer, headersAnswer } from '../../../../src/frontend/picker/wire/messages.js';
import type { WrittenAnswer } from '../../../../src/frontend/picker/wire/write-answers.js';

const UNCHANGED = headersAnswer('responseHeaders');

/** A stream whose transport takes what the test lets it take, and turns of an event loop that the test begins. */
function open() {
  const sent: (readonly WrittenAnswer[])[] = [];
  const taking: (() => void)[] = [];
  const stream = new Duplex({
    objectMode: true,
    read: () => undefined,
    write: (answers, _encoding, taken) => {
      sent.push(answers);
      taking.push(taken);
    },
  });
  const turns: (() => void)[] = [];
  const eventLoop: EventLoop = {
    soon: (run) => {
      turns.push(run);
      return { clear: () => undefined };
    },
  };
  const call = new GatewayCall(Object.assign(stream, { cancelled: false }) as unknown as GrpcCall, {
    eventLoop,
  });
  stream.resume();
  return {
    call,
    stream,
    counts: () => sent.map(({ length }) => length),
    turn: () => {
      for (const run of turns.splice(0)) run();
    },
    take: () => {
      for (const taken of taking.splice(0)) taken();
    },
  };
}

describe('the answers of a stream', () => {
  it('go out together, those of one turn', () => {
    const { call, counts, turn, take } = open();
    const taken: number[] = [];
    call.write(UNCHANGED, () => taken.push(1));
    call.write(UNCHANGED, () => taken.push(2));
    expect(counts()).toEqual([]);
    turn();
    expect([counts(), taken]).toEqual([[2], []]);
    take();
    expect(taken).toEqual([1, 2]);
    call.write(UNCHANGED);
    turn();
    expect(counts()).toEqual([2, 1]);
  });

  it('do not wait for one another where they are long', () => {
    const { call, counts } = open();
    call.write(bodyAnswer('requestBody', 'full_duplex', Buffer.alloc(128 * 1024), false));
    expect(counts()).toEqual([1]);
  });

  it('go out before the end, and none after it', () => {
    const { call, stream, counts, turn, take } = open();
    call.write(UNCHANGED);
    call.end();
    call.end();
    let isTaken = false;
    call.write(UNCHANGED, () => {
      isTaken = true;
    });
    turn();
    take();
    expect([counts(), stream.writableEnded, isTaken]).toEqual([[1], true, true]);
  });

  it('are let go where the stream is gone', () => {
    const { call, stream, counts, turn } = open();
    let isTaken = false;
    call.write(UNCHANGED, () => {
      isTaken = true;
    });
    stream.destroy();
    turn();
    expect([counts(), isTaken]).toEqual([[], true]);
  });

  it('stop the reading while sixteen wait', () => {
    const { call, stream, turn, take } = open();
    for (let at = 0; at < 15; at += 1) call.write(UNCHANGED);
    expect(stream.isPaused()).toBe(false);
    call.write(UNCHANGED);
    turn();
    expect(stream.isPaused()).toBe(true);
    take();
    expect(stream.isPaused()).toBe(false);
  });
});
