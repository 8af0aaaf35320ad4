import { describe, expect, it } from 'vitest';
import { BatchDecoder } from '../../../../src/worker/kv-events/decode/decode-batch.js';
import { decode } from '../support/decoded.js';
import { batchOf, encode } from '../support/engine-payloads.js';

describe('a batch', () => {
  it('is an array of time, events and perhaps the rank, or a map of the same', () => {
    const events = [['AllBlocksCleared']];
    const expected = { publishedAtMs: 1_500, rank: 3, unreadable: 0 };
    expect(decode(encode([1.5, events, 3]))).toMatchObject(expected);
    expect(decode(encode([1.5, events, 3, 'more', { to: 'come' }]))).toMatchObject(expected);
    const map = { later: [1], data_parallel_rank: 3, events, ts: 1.5 };
    expect(decode(encode(map))).toMatchObject(expected);
    for (const bare of [[null, events], [null, events, null], { events }]) {
      const { publishedAtMs, rank, events: seen } = decode(encode(bare));
      expect([publishedAtMs, rank, seen.length]).toEqual([undefined, undefined, 1]);
    }
  });

  it('may tell its time as an integer; one that is no time is left out', () => {
    expect(decode(encode([2, []])).publishedAtMs).toBe(2_000);
    for (const none of [-1, Number.NaN, Number.POSITIVE_INFINITY, 1e300]) {
      expect(decode(encode([none, []]))).toEqual({ events: [], unreadable: 0 });
    }
  });

  it('is reported as unreadable when it is something else', () => {
    for (const wrong of [
      null,
      7,
      [],
      [1.5],
      {},
      { ts: 1.5 },
      'text',
      [1, 2],
      { events: 3 },
      [1.5, [], 'rank'],
      [1.5, [], -1],
    ]) {
      const { problem, unreadable } = decode(encode(wrong));
      expect(problem).toEqual(expect.any(String));
      expect(unreadable).toBe(1);
    }
    expect(decode(new Uint8Array(0)).problem).toBe('the payload ends too early');
  });

  it('is decoded in steps of whole events, with the same outcome as in one', () => {
    const decoder = new BatchDecoder();
    const clear = Buffer.from([0x91, 0xb0, ...Buffer.from('AllBlocksCleared')]);
    const payload = Buffer.concat([
      Buffer.from([0x93, 0x07, 0xdc, 0x10, 0x00]),
      Buffer.alloc(4_096 * clear.length, clear),
      Buffer.from([0x03]),
    ]);
    let events = 0;
    const perStep: number[] = [];
    const steps = decoder.decodeInSteps(
      payload,
      () => (events += 1),
      () => {},
    );
    let head = steps.next();
    for (; head.done !== true; head = steps.next()) perStep.push(events);
    expect(perStep.length).toBeGreaterThan(8);
    expect(Math.max(...perStep.map((at, step) => at - (perStep[step - 1] ?? 0)))).toBeLessThanOrEqual(256);
    expect([events, head.value]).toEqual([4_096, { publishedAtMs: 7_000, rank: 3 }]);
  });

  it('names no event of more than 131,072 blocks', () => {
    const decoder = new BatchDecoder();
    /** `[0, [["BlockRemoved", [1, …]]]]` as MessagePack. */
    const removal = (count: number): Buffer => {
      const head = Buffer.from([0xdd, 0, 0, 0, 0]);
      head.writeUInt32BE(count, 1);
      const tag = Buffer.from([0x92, 0x00, 0x91, 0x92, 0xac, ...Buffer.from('BlockRemoved')]);
      return Buffer.concat([tag, head, Buffer.alloc(count, 1)]);
    };
    const problemOf = (count: number): string | undefined =>
      decoder.decode(
        removal(count),
        () => {},
        () => {},
      ).problem;
    expect(problemOf(131_072)).toBeUndefined();
    expect(problemOf(131_073)).toBe('an event of 131073 blocks');
  });

  it('of more than 64 MiB is not looked into', () => {
    const { problem, events } = decode(new Uint8Array(67_108_865));
    expect(problem).toContain('67108865');
    expect(events).toEqual([]);
  });

  it('keeps the events around one that cannot be read', () => {
    const wrong = [
      { type: 'BlockStored', block_hashes: 'none' },
      { block_hashes: [1] },
      [],
      7,
      ['BlockRemoved', [1.5]],
    ];
    const { events, unreadable, problem } = decode(
      batchOf(['AllBlocksCleared'], ...wrong, { type: 'BlockRemoved', block_hashes: [9] }),
    );
    expect(events.map(({ type }) => type)).toEqual(['cleared', 'removed']);
    expect(unreadable).toBe(wrong.length);
    expect(problem).toBe('no array where one belongs');
  });

  it('keeps the events before its end, when it ends too early', () => {
    const whole = batchOf(['AllBlocksCleared'], ['AllBlocksCleared']);
    const { events, unreadable, problem } = decode(whole.subarray(0, whole.length - 3));
    expect([events.length, unreadable]).toEqual([1, 1]);
    expect(problem).toBe('the payload ends too early');
  });

  it('with very many unreadable events is given up', () => {
    const { unreadable } = decode(batchOf(...new Array(10_000).fill(7)));
    expect(unreadable).toBeLessThan(100);
  });
});
