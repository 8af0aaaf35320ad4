import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { timeOf, timeOfField } from '../../../../src/tools/doctor/logs/log-time.js';

const NOW_MS = Date.parse('2026-11-22T00:00:00Z');

function read(text: string): { time: string | undefined; hasNoZone: boolean; hasNoYear: boolean } {
  const gaps = { hasNoZone: false, hasNoYear: false };
  const ms = timeOf(text, NOW_MS, gaps);
  return { time: ms === undefined ? undefined : new Date(ms).toISOString(), ...gaps };
}

describe('the time of a line', () => {
  it.each([
    ['2026-02-16T14:38:53.950961Z  INFO dynamo_llm: x', '2026-02-16T14:38:53.950Z'],
    ['2026-02-16T14:38:53Z INFO x', '2026-02-16T14:38:53.000Z'],
    ['2026-02-16T15:38:53.950961+01:00 INFO x', '2026-02-16T14:38:53.950Z'],
    ['2026-02-16 09:08:53,950 -0530 x', '2026-02-16T14:38:53.950Z'],
    ['2026-02-16T14:38:53.950961123Z stdout', '2026-02-16T14:38:53.950Z'],
    ['1771252733.950 something', '2026-02-16T14:38:53.950Z'],
    ['1771252733950 something', '2026-02-16T14:38:53.950Z'],
  ])('is read with its zone from %s', (text, time) => {
    expect(read(text)).toEqual({ time, hasNoZone: false, hasNoYear: false });
  });

  it.each([
    ['[2026-02-16 14:38:53] server_args=x', '2026-02-16T14:38:53.000Z'],
    ['[2026-02-16 14:38:53 TP0] Prefill batch', '2026-02-16T14:38:53.000Z'],
    ['2026-02-16 14:38:53,950 - INFO', '2026-02-16T14:38:53.950Z'],
    ['[12/20/2025-03:40:47] [TRT-LLM] [I] x', '2025-12-20T03:40:47.000Z'],
  ])('is taken as UTC where it has no zone: %s', (text, time) => {
    expect(read(text)).toEqual({ time, hasNoZone: true, hasNoYear: false });
  });

  it.each([
    ['INFO 11-21 17:33:09 [core.py:1] x', '2026-11-21T17:33:09.000Z'],
    ['(EngineCore pid=17051) INFO 11-21 17:33:09 [core.py:1] x', '2026-11-21T17:33:09.000Z'],
    ['WARNING 12-24 01:02:03 [core.py:1] of last year', '2025-12-24T01:02:03.000Z'],
    ['W1121 17:31:57.409000 16648 flop_counter.py:29] x', '2026-11-21T17:31:57.409Z'],
  ])('gets the last year that fits where it has none: %s', (text, time) => {
    expect(read(text)).toEqual({ time, hasNoZone: true, hasNoYear: true });
  });

  it.each([
    '',
    'INFO: 127.0.0.1 - "GET /"',
    '2026-13-16T14:38:53.950961Z x',
    '1999-02-16T14:38:53.950961Z x',
    '2026-02-16T25:61:61.000000Z',
    '2026-0x-16T14:38:53.950961Z x',
    '12345 x',
  ])('is not there: %s', (text) => expect(read(text).time).toBeUndefined());

  it.each<[unknown, string | undefined]>([
    [1_771_252_733, '2026-02-16T14:38:53.000Z'],
    [1_771_252_733_950, '2026-02-16T14:38:53.950Z'],
    [1_771_252_733_950_000, '2026-02-16T14:38:53.950Z'],
    ['1771252733950000000', '2026-02-16T14:38:53.950Z'],
    ['2026-02-16T14:38:53.950Z', '2026-02-16T14:38:53.950Z'],
    [12, undefined],
    [null, undefined],
  ])('is read from the field %s', (value, time) => {
    const ms = timeOfField(value, NOW_MS, { hasNoZone: false, hasNoYear: false });
    expect(ms === undefined ? undefined : new Date(ms).toISOString()).toBe(time);
  });

  it('is a number of our years or nothing, whatever the text', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[[(]?[0-9TZ :.+/-]{0,40}/), (text) => {
        const ms = timeOf(text, NOW_MS, { hasNoZone: false, hasNoYear: false });
        expect(ms === undefined || (Number.isInteger(ms) && ms > 1.4e12 && ms < 4.2e12)).toBe(true);
      }),
    );
  });
});
