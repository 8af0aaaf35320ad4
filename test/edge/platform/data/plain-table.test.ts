import { describe, expect, it } from 'vitest';
import { plainTable, pushRow } from '../../../../src/edge/platform/data/plain-table.js';

describe('a table for people', () => {
  it('has columns as wide as their widest cell on a terminal, two spaces between them, and none at the end', () => {
    const table = plainTable(['WORKER', 'MODEL', 'WHY']);
    pushRow(table, ['w-1', '模型', '']);
    pushRow(table, ['worker-12', 'tiny', 'it differs']);
    expect(table.toString().split('\n')).toEqual([
      'WORKER     MODEL  WHY',
      'w-1        模型',
      'worker-12  tiny   it differs',
    ]);
  });

  it('is its head alone when it has no rows', () => {
    expect(plainTable(['A', 'B']).toString()).toBe('A  B');
  });

  it('has one line for each row whatever is in it, and shortens all cells but the last, which says what to do', () => {
    const table = plainTable(['A', 'B']);
    pushRow(table, [`evil\n\u001b[2Jrow ${'x'.repeat(300)}`, 'y'.repeat(4_000)]);
    const [, row = '', ...rest] = table.toString().split('\n');
    expect(rest).toEqual([]);
    expect(row).toMatch(/^evil .\[2Jrow x+… {2}y{4000}$/);
    expect(row.indexOf('…')).toBe(200);
  });
});
