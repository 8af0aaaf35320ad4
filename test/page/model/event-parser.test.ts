import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanTexts } from '../../../src/page/model/clean-texts.js';
import { EventParser } from '../../../src/page/model/event-parser.js';
import { placeHash, readPlace } from '../../../src/page/model/place.js';

const STREAM =
  'retry: 2000\n\nevent: snapshot\nid: a:1\ndata: {"a":1}\n\n: heartbeat\n\nevent: delta\r\ndata: one\r\ndata:two\r\n\r\ndata: x\n\n';
const EVENTS = [
  { name: 'snapshot', data: '{"a":1}' },
  { name: 'delta', data: 'one\ntwo' },
  { name: 'message', data: 'x' },
];

describe('server-sent events', () => {
  it('are the same however the stream is cut into pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: STREAM.length })), (cuts) => {
        const places = [0, ...cuts.sort((a, b) => a - b), STREAM.length];
        const parser = new EventParser();
        const got = places.slice(1).flatMap((to, at) => parser.push(STREAM.slice(places[at], to)));
        expect(got).toEqual(EVENTS);
      }),
    );
  });

  it('without data are none', () => {
    expect(new EventParser().push('event: end\n\n:\n\nid: 3\n\n')).toEqual([]);
  });
});

describe('texts that come in', () => {
  it('lose what turns the direction of writing, has no width or steers a terminal', () => {
    const answer = {
      'na\u202eme': ['a\u202eb', { deep: 'x\u200by\u001b[31m' }],
      count: 3,
      is: true,
      none: null,
    };
    expect(cleanTexts(answer)).toEqual({
      'na\ufffdme': ['a\ufffdb', { deep: 'x\ufffdy\ufffd[31m' }],
      count: 3,
      is: true,
      none: null,
    });
  });

  it('keep markup, which is shown as text', () => {
    expect(cleanTexts('<b>bold</b> & "x"')).toBe('<b>bold</b> & "x"');
  });
});

describe('a place', () => {
  it('is read from its address as it was written there, whatever its parameters are', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }), (target) => {
        // Half of a pair cannot stand in an address.
        const kept = target.replace(/\p{Cs}/gu, '\ufffd');
        expect(readPlace(placeHash('worker', { target: kept, group: '' }))).toEqual({
          view: 'worker',
          parameters: { target: kept },
        });
      }),
    );
  });

  it('is the fleet where the address makes no sense', () => {
    for (const hash of ['', '#', '#/nowhere?x=1', `#/fleet?text=${'x'.repeat(5_000)}`])
      expect(readPlace(hash)).toEqual({ view: 'fleet', parameters: {} });
  });
});
