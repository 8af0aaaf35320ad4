import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fieldOf } from '../../../../src/engines/diagnosis/log-fields.js';
import { cleanLine } from '../../../../src/tools/doctor/logs/clean-line.js';
import { flatRecord } from '../../../../src/tools/doctor/logs/flat-record.js';
import { propertyRuns } from '../../../support/property-runs.js';

const CONTEXT = { nowMs: Date.parse('2026-11-22T00:00:00Z'), gaps: { hasNoZone: false, hasNoYear: false } };

const name = fc.oneof(
  fc.constantFrom(
    'level',
    'target',
    'worker_id',
    'dp_rank',
    'request.outcome',
    'caller',
    'a',
    'error',
    'a b',
    'x:a',
    'my.level',
  ),
  fc.constantFrom(
    'time',
    'ts',
    'timestamp',
    'asctime',
    'msg',
    'message',
    'event',
    'log',
    'line',
    '7',
    'fields',
  ),
  fc.string({ maxLength: 12 }),
);
const value = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom('a=b', 'worker_id=5 level=6', 'Some(7)', 'a,b', ';', '\u0001x'),
  fc.constantFrom(
    'two words',
    'tab\tbed',
    '\u00a0',
    '2026-02-16T14:38:53.950961Z',
    '1781099812123',
    'x'.repeat(2_100),
  ),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(null, true, false, 0, -0, 1e21, 252.375, 1781099812.4359953),
  fc.constantFrom([], {}, { message: 'inner' }, ['a', 1]),
);
const record = fc
  .array(fc.tuple(name, value), { maxLength: 14 })
  .map((pairs) => [...pairs, ['message', 'Selected worker'] as const]);

/** A record with the pairs in their order, as programs write one. */
function written(pairs: readonly (readonly [string, unknown])[], between: string): string {
  const fields = pairs.map(([key, one]) => `${JSON.stringify(key)}:${between}${JSON.stringify(one)}`);
  return `{${fields.join(`,${between}`)}}`;
}

describe('a record that is read in one pass', () => {
  it('is what a parser makes of it', () => {
    let read = 0;
    fc.assert(
      fc.property(record, fc.constantFrom('', ' '), (pairs, between) => {
        const json = written(pairs, between);
        // An object within leaves a record to the parser, and is no part of the text.
        const parsed = cleanLine(written([...pairs, ['an object', {}]], between), CONTEXT);
        const quick = cleanLine(json, CONTEXT);
        if (flatRecord(json) !== undefined) read += 1;
        const { 'an object': _, ...fields } = parsed.fields ?? {};
        expect({ text: quick.text, ms: quick.ms, who: quick.who, fields: quick.fields ?? {} }).toEqual({
          text: parsed.text,
          ms: parsed.ms,
          who: parsed.who,
          fields,
        });
      }),
      { numRuns: propertyRuns(800) },
    );
    expect(read).toBeGreaterThan(100);
  });

  it("is what a parser makes of tracing's own form, with fields in an object", () => {
    let read = 0;
    const outer = fc.array(fc.tuple(name, value), { maxLength: 2 });
    const small = fc
      .array(fc.tuple(name, value), { maxLength: 4 })
      .map((pairs) => [...pairs, ['message', 'm'] as const]);
    fc.assert(
      fc.property(outer, small, outer, fc.constantFrom('', ' '), (before, pairs, behind, between) => {
        const written3 = (more: readonly (readonly [string, string])[]): string =>
          `{${[
            ...before.map(([key, one]) => [key, JSON.stringify(one)] as const),
            ['fields', written(pairs, between)] as const,
            ...behind.map(([key, one]) => [key, JSON.stringify(one)] as const),
            ...more,
          ]
            .map(([key, one]) => `${JSON.stringify(key)}:${between}${one}`)
            .join(`,${between}`)}}`;
        const json = written3([]);
        const parsed = cleanLine(written3([['an object', '{}']]), CONTEXT);
        const quick = cleanLine(json, CONTEXT);
        const flat = flatRecord(json);
        if (flat === undefined) return;
        read += 1;
        expect({ text: quick.text, ms: quick.ms }).toEqual({ text: parsed.text, ms: parsed.ms });
        for (const [key] of [...before, ...pairs, ...behind].filter(([one]) => one !== ''))
          expect(flat.field(key), key).toBe(fieldOf(parsed.text, key));
      }),
      { numRuns: propertyRuns(2_500) },
    );
    expect(read).toBeGreaterThan(100);
  });

  it('finds a field where its text has it first, also behind the object of fields', () => {
    const json = '{"fields":{"a":"inner","message":"m"},"x:a":"outer"}';
    expect(flatRecord(json)?.text).toBe('m x:a=outer a=inner');
    expect(flatRecord(json)?.field('a')).toBe('outer');
  });

  it('passes over a field that is null, as its text does', () => {
    expect(flatRecord('{"a":null,"x:a":"b","message":"m"}')?.field('a')).toBe('b');
    expect(flatRecord('{"a":null,"message":"m"}')?.field('a')).toBeUndefined();
  });

  it('leaves an id of 64 bits where a line may be to the parser', () => {
    expect(flatRecord('{"log":2419583247588419,"message":"m"}')).toBeUndefined();
    expect(flatRecord('{"line":369,"message":"m"}')?.text).toBe('m line=369');
  });

  it('keeps the digits of an id of 64 bits', () => {
    const json =
      '{"ts":1781099812.4359953,"msg":"Selected worker","worker_id":14890345699382878635,"logit":9.50}';
    const read = flatRecord(json);
    expect(read?.text).toBe('Selected worker worker_id=14890345699382878635 logit=9.5');
    expect(read?.field('worker_id')).toBe('14890345699382878635');
    expect(read?.time).toBe(1781099812.4359953);
  });

  it('has the fields that its text has, whatever was read between', () => {
    const asked = fc.oneof(name, fc.constantFrom('id', 'outcome', 'b', 'worker', 'level'));
    let found = 0;
    fc.assert(
      fc.property(record, fc.array(asked, { maxLength: 6 }), fc.boolean(), (pairs, more, isBetween) => {
        const read = flatRecord(written(pairs, ''));
        if (read === undefined) return;
        for (const one of [...more, ...pairs.map(([key]) => key)].filter((key) => key !== '')) {
          const other = fieldOf(flatRecord(written(pairs, ' '))?.text ?? '', one);
          if (isBetween) flatRecord('{"msg":"another","worker_id":1,"a":2}');
          expect(read.field(one), one).toBe(other);
          if (other !== undefined) found += 1;
        }
        expect(read.message).toBe('Selected worker');
      }),
      { numRuns: propertyRuns(2_000) },
    );
    expect(found).toBeGreaterThan(100);
  });

  it('keeps one object beside plain values where it may have one, which is no part of the text', () => {
    const json = '{"msg":"Got endpoint scores","scores":{"10.0.0.7:8000":12,"b":0},"total":40}';
    const read = flatRecord(json, true);
    expect(read?.text).toBe('Got endpoint scores total=40');
    expect(read?.object('scores')).toEqual({ '10.0.0.7:8000': 12, b: 0 });
    expect(read?.field('scores')).toBeUndefined();
    expect(read?.object('total')).toBeUndefined();
    expect(flatRecord(json)).toBeUndefined();
  });

  it.each([
    ['two objects', '{"msg":"m","a":{"b":1},"c":{"d":1}}'],
    ['an object without anything', '{"msg":"m","a":{}}'],
    ['an object in an object', '{"msg":"m","a":{"b":{"c":1}}}'],
    ['a brace within a text of an object', '{"msg":"m","a":{"b":"}"}}'],
    ['an object that is no JSON', '{"msg":"m","a":{b:1}}'],
    ['an object that does not end', '{"msg":"m","a":{"b":1'],
    ['an object for a message', '{"msg":{"b":1}}'],
    ['an object whose name comes twice', '{"msg":"m","a":{"b":1},"a":2}'],
    ['an object among fields', '{"fields":{"msg":"m","a":{"b":1}}}'],
  ])('leaves %s to the parser also then', (_, json) => {
    expect(flatRecord(json, true)).toBeUndefined();
  });

  it('has the object that a parser finds', () => {
    const inner = fc.dictionary(
      fc.oneof(fc.string(), fc.constantFrom('a', '}', '10.0.0.7')),
      fc.oneof(fc.integer(), fc.string({ maxLength: 4 }), fc.constantFrom(2419583247588419001n, null)),
      { minKeys: 1, maxKeys: 4 },
    );
    let found = 0;
    fc.assert(
      fc.property(record, inner, (pairs, scores) => {
        const text = JSON.stringify(scores, (_, one) => (typeof one === 'bigint' ? Number(one) : one));
        const json = written(pairs, '').replace(/\}$/, `,"scores":${text}}`);
        const read = flatRecord(json, true);
        if (read === undefined) return;
        found += 1;
        expect(read.object('scores')).toEqual(cleanLine(json, CONTEXT).fields?.['scores']);
        expect(read.text).toBe(flatRecord(written(pairs, ''))?.text);
      }),
      { numRuns: propertyRuns(800) },
    );
    expect(found).toBeGreaterThan(50);
  });

  it('reads records of more names than are kept', () => {
    for (let at = 0; at < 10_000; at += 1) {
      const read = flatRecord(`{"msg":"m","first":2,"name${at}":${at},"last":1}`);
      expect(read?.field('first')).toBe('2');
      expect(read?.field(`name${at}`)).toBe(String(at));
      expect(read?.field(`name${at - 1}`)).toBeUndefined();
      expect(read?.field('last')).toBe('1');
    }
  });

  it('takes the number of a line of a source for a field', () => {
    const json =
      '{"time":"2026-11-24T00:29:52.222850Z","level":"INFO","file":"selector.rs","line":369,"message":"Selected worker","worker_id":7}';
    expect(flatRecord(json)?.text).toBe('Selected worker level=INFO file=selector.rs line=369 worker_id=7');
    expect(flatRecord(json)?.field('line')).toBe('369');
  });

  it.each([
    ['{"msg":"m worker_id=1","worker_id":2}', '1'],
    ['{"msg":"m","a worker_id":1,"worker_id":2}', '1'],
    ['{"msg":"m","my.worker_id":1,"worker_id":2}', '2'],
    ['{"msg":"m","worker_id":"a, b","c":1}', 'a, b'],
    ['{"msg":"m","worker_id":"a,b"}', 'a'],
    ['{"msg":"m","worker_id":"Some(7)"}', 'Some(7'],
    ['{"msg":"m","worker_id":""}', ''],
    ['{"msg":"m","worker_id":null}', undefined],
    ['{"msg":"m","worker_id":-2.50}', '-2.5'],
    ['{"msg":"m","worker_id":true}', 'true'],
    ['{"time":"t","msg":"m"}', undefined],
  ])('reads worker_id of %s as its text has it', (json, value) => {
    const read = flatRecord(json);
    expect(read?.field('worker_id')).toBe(value);
    expect(fieldOf(read?.text ?? '', 'worker_id')).toBe(value);
  });

  it.each([
    ['an escape', '{"msg":"a\\nb"}'],
    ['an object', '{"msg":"a","scores":{"b":1}}'],
    ['a name that comes twice', '{"msg":"a","b":1,"b":2}'],
    ['two messages', '{"msg":"a","message":"b"}'],
    ['no message', '{"level":"info"}'],
    ['the line of another program', '{"msg":"a","log":"b"}'],
    ['a number with a zero before it', '{"msg":"a","b":01}'],
    ['an exponent', '{"msg":"a","b":1e3}'],
    ['a name of digits', '{"msg":"a","7":1}'],
    ['a word that is none of JSON', '{"msg":"a","b":nil}'],
    ['something behind it', '{"msg":"a"} {'],
    ['a cut', '{"msg":"a","b":"c'],
    ['nothing', '{}'],
    ['an object of another name', '{"msg":"a","span":{"b":1}}'],
    ['fields without any', '{"msg":"a","fields":{}}'],
    ['fields that do not end', '{"msg":"a","fields":{"b":1}'],
    ['fields that come twice', '{"fields":{"msg":"a"},"fields":"b"}'],
    ['fields that end twice', '{"msg":"a","b":1}}'],
  ])('leaves %s to the parser', (_, json) => {
    expect(flatRecord(json)).toBeUndefined();
  });
});
