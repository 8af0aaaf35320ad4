import { describe, expect, it } from 'vitest';
import {
  countsOf,
  isKeptOut,
  KEPT_OUT,
  type RowFilter,
  type RowOrder,
  rowsOf,
  worstFirst,
} from '../../../src/page/model/worker-rows.js';
import { viewWorker } from '../support/view-workers.js';

const dissenting = viewWorker(3, {
  shown: 'dissenting',
  tone: 'bad',
  rank: 1,
  requests: 'no',
  why: 'reports 16, its model agreed on 32',
});
const draining = viewWorker(4, { shown: 'draining', tone: 'plain', rank: 20, requests: 'no' });
const ejected = viewWorker(5, { shown: 'ejected', tone: 'bad', rank: 0, requests: 'tries', node: 'node-9' });
const workers = [
  viewWorker(10),
  viewWorker(2),
  dissenting,
  draining,
  ejected,
  viewWorker(7, { group: 'mistral' }),
];

const ALL: RowFilter = { text: '', group: '', shown: '' };
const WORST: RowOrder = { column: 'urgency', isDescending: false };
const numbers = { active: (id: number) => id, rate: () => 0, errors: () => 0 };
const ids = (filter: Partial<RowFilter>, order: RowOrder = WORST) =>
  rowsOf(workers, { ...ALL, ...filter }, order, numbers).map(({ id }) => id);

describe('rows of workers', () => {
  it('begin with what a person has to act on, and go by number within names', () => {
    expect(ids({})).toEqual([5, 3, 4, 2, 7, 10]);
  });

  it('are found by any word of name, address, node, state or reason', () => {
    expect(ids({ text: 'node-9' })).toEqual([5]);
    expect(ids({ text: 'AGREED worker-3' })).toEqual([3]);
    expect(ids({ text: '10.0.0.2:' })).toEqual([2]);
    expect(ids({ text: 'no such worker' })).toEqual([]);
  });

  it('are those of a model, of a state, or those that are kept out', () => {
    expect(ids({ group: 'mistral' })).toEqual([7]);
    expect(ids({ shown: 'draining' })).toEqual([4]);
    expect(ids({ shown: KEPT_OUT })).toEqual([5, 3]);
  });

  it('stand by a number, the largest first where that is asked', () => {
    expect(ids({}, { column: 'active', isDescending: true })).toEqual([10, 7, 5, 4, 3, 2]);
  });
});

it('a worker that leaves in order is not kept out', () => {
  expect([dissenting, draining, ejected].map(isKeptOut)).toEqual([true, false, true]);
});

it('counts by state come worst first', () => {
  expect(countsOf(workers).map(({ shown, count }) => `${count} ${shown}`)).toEqual([
    '1 ejected',
    '1 dissenting',
    '1 draining',
    '3 verified',
  ]);
  expect(worstFirst({ verified: 9, lost: 2, dissenting: 1, quaint: 4 }).map(({ shown }) => shown)).toEqual([
    'dissenting',
    'lost',
    'quaint',
    'verified',
  ]);
});
