import { describe, expect, it } from 'vitest';
import type { FleetView, GroupView } from '../../../src/core/agreement/view/snapshot.js';
import type { PairBook } from '../../../src/core/pairs/pair-book.js';
import type { ViewPairGroup } from '../../../src/core/view/view-pairs.js';
import { viewPairs } from '../../../src/fleet/view/view-pairs.js';
import { answerFor, bookOfTwo, pairMember } from '../../core/pairs/pair-fleet.js';
import { TestFleet } from '../../support/fleet.js';

const MIB = 1_048_576;

/** The answer for a book whose workers are all offered. */
function shown(book: PairBook, nowMs = 0): ViewPairGroup {
  const targets = [...book.prefillTargets, ...book.decodeTargets];
  const group = {
    group: 'tiny',
    gateOpen: true,
    members: targets.map((target) => ({ target, offer: 'full' })),
  } as unknown as GroupView;
  const view: FleetView = { ...new TestFleet().view(), groups: [group] };
  const [found] = viewPairs({ view, pairsOf: () => book, nowMs }).groups;
  if (found === undefined) throw new Error('no pairs are shown');
  return found;
}

describe('the pairs that pages show', () => {
  it('are all of a small model, with the class, and what its links move at least', () => {
    const near = { position: { node: 'n-0' } };
    expect(shown(bookOfTwo(near, near))).toEqual({
      group: 'tiny',
      prefillCount: 1,
      decodeCount: 1,
      counts: { can_pair: 1, cannot_say: 0, cannot_pair: 0, set_aside: 0 },
      isWhole: true,
      pairs: [
        {
          prefillTarget: 'prefill-0',
          decodeTarget: 'decode-0',
          prefill: 'prefill-0',
          decode: 'decode-0',
          state: 'can_pair',
          tone: 'good',
          class: 'same_host',
          classEvidence: 'node n-0',
          why: '',
          isOffered: true,
          transfers: 0,
          failedTransfers: 0,
          promisedGbPerS: 6,
        },
      ],
    });
  });

  it('say which values differ', () => {
    const other = { transfer: { dtype: 'float16', compatibility_hash: 'b'.repeat(64) } };
    expect(shown(bookOfTwo({}, other)).pairs).toMatchObject([
      {
        state: 'cannot_pair',
        tone: 'bad',
        isOffered: false,
        why: expect.stringContaining('dtype: bfloat16 (prefill-0) against float16 (decode-0)'),
      },
    ]);
  });

  it('say when one that is set aside is tried again', () => {
    const book = bookOfTwo({}, {});
    for (let nth = 0; nth < 3; nth += 1) book.transferFailed('prefill-0', 'decode-0', 'it timed out', 1_000);
    expect(shown(book, 11_000).pairs).toMatchObject([
      {
        state: 'set_aside',
        tone: 'warn',
        retryInMs: 20_000,
        failedTransfers: 3,
        why: expect.stringContaining('it timed out'),
      },
    ]);
    expect(shown(book, 60_000).pairs[0]?.retryInMs).toBe(0);
  });

  it('have what transfers took beside what the class promises, and say where that is far less', () => {
    const near = { position: { node: 'n-0' } };
    const book = bookOfTwo(near, near);
    for (let nth = 0; nth < 50; nth += 1)
      book.transferDone('prefill-0', 'decode-0', { sizeBytes: MIB, durationMs: 10 });
    expect(shown(book).pairs).toMatchObject([
      {
        state: 'can_pair',
        tone: 'warn',
        isSlow: true,
        msPerMib: expect.closeTo(10),
        gbPerS: expect.closeTo(0.105, 2),
        promisedGbPerS: 6,
        transfers: 50,
      },
    ]);
  });

  it('of a large model are the worst alone, and no more than a page can show', () => {
    const book = bookOfTwo({}, {});
    for (let nth = 1; nth < 64; nth += 1) {
      book.setMember(pairMember(`prefill-${nth}`, 'prefill'));
      book.setMember(pairMember(`decode-${nth}`, 'decode'));
    }
    for (let nth = 0; nth < 64; nth += 1) answerFor(book, `prefill-${nth}`, 'decode-0');
    expect(shown(book)).toMatchObject({ isWhole: false, pairs: [], counts: { can_pair: 64 * 64 } });

    for (let nth = 0; nth < 3; nth += 1) book.transferFailed('prefill-7', 'decode-9', 'it timed out', 0);
    const other = { transfer: { dtype: 'float16', compatibility_hash: 'b'.repeat(64) } };
    for (let nth = 60; nth < 64; nth += 1) book.setMember(pairMember(`decode-${nth}`, 'decode', other));
    const { pairs, counts } = shown(book);
    expect(counts).toMatchObject({ set_aside: 1, cannot_pair: 4 * 64 });
    expect(pairs).toHaveLength(200);
    expect(pairs[0]).toMatchObject({ prefill: 'prefill-7', decode: 'decode-9', state: 'set_aside' });
  });

  it('are none of a model that lacks a role', () => {
    const book = bookOfTwo({}, {});
    book.deleteMember('decode-0');
    expect(() => shown(book)).toThrow('no pairs are shown');
  });
});
