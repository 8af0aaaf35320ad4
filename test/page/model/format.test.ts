import { expect, it } from 'vitest';
import { ENTRY_KINDS } from '../../../src/core/view/view-document.js';
import { ago, duration, percent, shortNumber } from '../../../src/page/model/format.js';
import { kindGroupOf } from '../../../src/page/model/timeline-kinds.js';

it('numbers are short, and say their unit', () => {
  expect([0, 0.45, 12.34, 9_999, 12_345, 1_234_567, 2e9].map(shortNumber)).toEqual([
    '0',
    '0.45',
    '12.3',
    '9,999',
    '12.3 k',
    '1.23 M',
    '2 G',
  ]);
  expect([percent(1, 200), percent(87, 100), percent(1, 0)]).toEqual(['0.5 %', '87 %', '–']);
  expect([0, 8.25, 850, 1_234, 61_000].map(duration)).toEqual([
    '0 ms',
    '8.3 ms',
    '850 ms',
    '1.23 s',
    '61.0 s',
  ]);
  expect([-5, 12_000, 200_000, 7_200_000].map(ago)).toEqual(['0 s ago', '12 s ago', '3 min ago', '2 h ago']);
});

it('every kind of the timeline has a group of its own, but notices', () => {
  expect(ENTRY_KINDS.filter((kind) => kindGroupOf(kind) === 'other')).toEqual(['notice']);
});
