import { expect, it } from 'vitest';
import {
  amountText,
  bytesText,
  dateText,
  durationText,
  shareText,
} from '../../../../src/tools/doctor/report/figures.js';
import { sparkline } from '../../../../src/tools/doctor/report/series.js';

it('writes bytes, shares and times as people read them', () => {
  expect([0, 1_023, 81_920, 25_769_803_776].map(bytesText)).toEqual([
    '0 bytes',
    '1,023 bytes',
    '80 KiB',
    '24 GiB',
  ]);
  expect([0, 0.004, 0.034, 0.521, 1.67].map(shareText)).toEqual(['0%', '0.4%', '3.4%', '52%', '167%']);
  expect([0.81, 41, 300, 10_000].map(durationText)).toEqual(['810 ms', '41 s', '5 min', '2.8 h']);
  expect(amountText(2_621_440, 'bytes')).toBe('2.5 MiB (2,621,440 bytes)');
});

it('writes times that no calendar has as the epoch', () => {
  expect([1e300, Number.NaN, -1e300].map(dateText)).toEqual(Array(3).fill('1970-01-01 00:00:00 UTC'));
});

it('draws a rate on one line, neighbours added up where it is too long', () => {
  expect(sparkline([0, 1, 4, 8], 10)).toBe(' ▁▄█');
  expect(sparkline([1, 1, 0, 0, 2, 2], 3)).toBe('▄ █');
  expect(sparkline([], 3)).toBe('');
});
