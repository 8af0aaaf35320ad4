import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PromptRun } from '../../../../src/fleet/router/choice/prompt-run.js';
import { RunTable } from '../../../../src/fleet/router/choice/run-table.js';

const root = new PromptRun(0, new Uint32Array(0));

function runAfter(before: PromptRun, number: number, lo: number, hi: number): PromptRun {
  const run = new PromptRun(number, Uint32Array.of(lo, hi));
  run.placeAfter(before);
  return run;
}

describe('the table of runs', () => {
  it('finds a run by the one before it and both words of its first block', () => {
    const table = new RunTable();
    const one = runAfter(root, 1, 7, 8);
    const other = runAfter(one, 2, 7, 8);
    table.add(one);
    table.add(other);
    expect(table.find(root, 7, 8)).toBe(one);
    expect(table.find(one, 7, 8)).toBe(other);
    expect(table.find(other, 7, 8)).toBeUndefined();
    expect(table.find(root, 8, 7)).toBeUndefined();
    table.delete(one);
    expect([table.find(root, 7, 8), table.find(one, 7, 8)]).toEqual([undefined, other]);
  });

  it('has what a plain map has, whatever comes and goes', () => {
    const steps = fc.array(fc.record({ lo: fc.nat(400), hi: fc.nat(1), goes: fc.nat(2) }), {
      minLength: 1,
      maxLength: 1_500,
    });
    fc.assert(
      fc.property(steps, (all) => {
        const table = new RunTable();
        const plain = new Map<string, PromptRun>();
        for (const [at, { lo, hi, goes }] of all.entries()) {
          const key = `${lo} ${hi}`;
          const known = plain.get(key);
          expect(table.find(root, lo, hi)).toBe(known);
          if (known === undefined) {
            const run = runAfter(root, at + 1, lo, hi);
            table.add(run);
            plain.set(key, run);
          } else if (goes > 0) {
            table.delete(known);
            plain.delete(key);
          }
        }
        for (const [key, run] of plain) {
          const [lo, hi] = key.split(' ').map(Number);
          expect(table.find(root, lo as number, hi as number)).toBe(run);
          table.delete(run);
          expect(table.find(root, lo as number, hi as number)).toBeUndefined();
        }
      }),
      { numRuns: 60 },
    );
  });
});
