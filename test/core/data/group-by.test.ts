import { expect, it } from 'vitest';
import { groupBy } from '../../../src/core/data/group-by.js';

it('items are grouped by their keys, in the order in which they came', () => {
  expect([...groupBy([3, 1, 2, 5, 4], (item) => item % 2 === 0)]).toEqual([
    [false, [3, 1, 5]],
    [true, [2, 4]],
  ]);
  expect(groupBy([], String).size).toBe(0);
});
