import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PositionedGpu } from '../../../src/core/contract/topology/worker-position.js';
import { PairBook } from '../../../src/core/pairs/pair-book.js';
import { answerFor, bookOfTwo, pairMember } from './pair-fleet.js';

function gpuOf(id: string): PositionedGpu {
  return { id, wholeId: id, numaNode: undefined, pcieRoot: undefined };
}

describe('the book of pairs', () => {
  it('knows nothing of workers that are not in it, or have the other role', () => {
    const book = bookOfTwo({}, {});
    expect(book.stateOf('decode-0', 'prefill-0')).toBeUndefined();
    expect(book.verdict('prefill-0', 'gone')).toBeUndefined();
    expect(book.mayUse('gone', 'decode-0')).toBe(false);
    expect(book.classOf('gone', 'decode-0')).toBe('unknown');
    expect(book.transferDone('gone', 'decode-0', undefined)).toBeUndefined();
  });

  it('forgets what was learned of a pair when either engine starts again', () => {
    const book = bookOfTwo({}, {});
    for (let nth = 0; nth < 3; nth += 1) book.transferFailed('prefill-0', 'decode-0', 'it timed out', 0);
    expect(book.stateOf('prefill-0', 'decode-0')).toBe('set_aside');
    book.setMember(pairMember('decode-0', 'decode', { instance: 'decode-0-2' }));
    expect(book.stateOf('prefill-0', 'decode-0')).toBe('can_pair');
    expect(book.dueAtMs).toBeUndefined();
  });

  it('keeps it when the same engine reports other values', () => {
    const book = bookOfTwo({}, {});
    book.transferDone('prefill-0', 'decode-0', { sizeBytes: 1_048_576, durationMs: 2 });
    book.setMember(pairMember('decode-0', 'decode', { revision: 2, position: { node: 'node-1' } }));
    expect(book.transfersOf('prefill-0', 'decode-0')).toMatchObject({ transfers: 1 });
    expect(book.millisecondsPerMebibyte('prefill-0', 'decode-0')).toBeCloseTo(2);
  });

  it('leaves a worker its partners when the only one of the other role reports other values', () => {
    const book = bookOfTwo({}, {});
    book.setMember(pairMember('decode-0', 'decode', { revision: 2, position: { node: 'node-1' } }));
    book.setMember(pairMember('prefill-0', 'prefill', { revision: 2, position: { node: 'node-2' } }));
    expect(book.hasNoPartner('prefill-0')).toBe(false);
    expect(book.hasNoPartner('decode-0')).toBe(false);
  });

  it('asks again for the side channel of another instance', () => {
    const book = bookOfTwo({}, {});
    book.setMember(pairMember('prefill-0', 'prefill', { instance: 'prefill-0-2' }));
    expect(book.stateOf('prefill-0', 'decode-0')).toBe('cannot_say');
    book.setChannel('prefill-0', 'prefill-0-1', 'unknown', { state: 'reachable' });
    expect(book.stateOf('prefill-0', 'decode-0')).toBe('cannot_say');
    answerFor(book, 'prefill-0', 'decode-0');
    expect(book.stateOf('prefill-0', 'decode-0')).toBe('can_pair');
  });

  it('counts pairs by state as a plain count does, whatever came, failed and left', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            at: fc.nat(5),
            role: fc.constantFrom('prefill' as const, 'decode' as const),
            dtype: fc.constantFrom('bfloat16', 'float16'),
            node: fc.constantFrom('', 'node-1', 'node-2', 'node-3'),
            zone: fc.constantFrom('', 'zone-1', 'zone-2'),
            gpu: fc.constantFrom(undefined, 'GPU-1', 'GPU-2'),
            act: fc.constantFrom('set', 'set', 'delete', 'fail', 'answer', 'refuse'),
          }),
          { maxLength: 40 },
        ),
        (steps) => {
          const book = new PairBook({ policy: 'warn' });
          for (const { at, role, dtype, node, zone, gpu, act } of steps) {
            const target = `${role}-${at}`;
            if (act === 'delete') book.deleteMember(target);
            else if (act === 'set')
              book.setMember(
                pairMember(target, role, {
                  transfer: { compatibility_hash: dtype, dtype },
                  position: { node, zone, gpus: gpu === undefined ? [] : [gpuOf(gpu)] },
                }),
              );
            else if (act === 'fail')
              for (let nth = 0; nth < 3; nth += 1)
                book.transferFailed(`prefill-${at}`, `decode-${5 - at}`, 'it timed out', 0);
            else
              book.setChannel(
                `prefill-${at}`,
                `prefill-${at}-1`,
                book.classOf(`prefill-${at}`, `decode-${5 - at}`),
                {
                  state: act === 'answer' ? 'reachable' : 'unreachable',
                  reason: 'refused',
                },
              );
          }
          const plain = { can_pair: 0, cannot_say: 0, cannot_pair: 0, set_aside: 0 };
          let canServe = false;
          for (const prefill of book.prefillTargets)
            for (const decode of book.decodeTargets) {
              const state = book.stateOf(prefill, decode) ?? 'cannot_say';
              plain[state] += 1;
              canServe ||= book.mayUse(prefill, decode) || state === 'set_aside';
            }
          expect(book.counts).toEqual(plain);
          expect(book.hasWorkablePair).toBe(canServe);
        },
      ),
    );
  });

  it('judges no more profiles of a role than there is room for', () => {
    const book = new PairBook({ policy: 'warn' });
    book.setMember(pairMember('prefill-0', 'prefill'));
    for (let nth = 0; nth < 300; nth += 1) {
      book.setMember(pairMember(`decode-${nth}`, 'decode', { transfer: { connector_version: `${nth}` } }));
    }
    expect(book.verdict('prefill-0', 'decode-299')).toMatchObject({
      state: 'cannot_say',
      reason: expect.stringContaining('more than 256 different transfer contracts'),
    });
  });
});
