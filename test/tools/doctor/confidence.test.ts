import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ClueAgainst,
  type ClueFor,
  confidenceOf,
  confidenceRank,
} from '../../../src/tools/doctor/confidence.js';

const pro = (...weights: ClueFor['weight'][]) => weights.map((weight) => ({ weight }));
const con = (...weights: ClueAgainst['weight'][]) => weights.map((weight) => ({ weight }));

const anyPro = fc.array(
  fc.record({ weight: fc.constantFrom<ClueFor['weight']>('proof', 'signature', 'sign') }),
);
const anyCon = fc.array(
  fc.record({ weight: fc.constantFrom<ClueAgainst['weight']>('refutes', 'weakens', 'noted') }),
);

function rank(
  cluesFor: readonly { weight: ClueFor['weight'] }[],
  against: readonly { weight: ClueAgainst['weight'] }[],
): number {
  const confidence = confidenceOf(cluesFor, against);
  return confidence === undefined ? 0 : confidenceRank(confidence);
}

describe('the rule of confidence', () => {
  it.each([
    { clues: pro('proof'), against: con(), is: 'certain' },
    { clues: pro('sign', 'signature'), against: con(), is: 'likely' },
    { clues: pro('sign'), against: con(), is: 'possible' },
    { clues: pro('sign', 'sign', 'sign', 'sign'), against: con(), is: 'possible' },
    { clues: pro(), against: con(), is: undefined },
    { clues: pro('proof'), against: con('weakens', 'weakens'), is: 'certain' },
    { clues: pro('proof'), against: con('refutes'), is: 'likely' },
    { clues: pro('signature'), against: con('weakens'), is: 'possible' },
    { clues: pro('signature'), against: con('refutes'), is: undefined },
    { clues: pro('sign'), against: con('weakens'), is: undefined },
    { clues: pro('sign'), against: con('noted'), is: 'possible' },
  ])('$clues against $against is $is', ({ clues, against, is }) => {
    expect(confidenceOf(clues, against)).toBe(is);
  });

  it('is never made surer by what speaks against it', () => {
    fc.assert(
      fc.property(anyPro, anyCon, anyCon, (cluesFor, against, more) => {
        expect(rank(cluesFor, [...against, ...more])).toBeLessThanOrEqual(rank(cluesFor, against));
      }),
    );
  });

  it('is never made less sure by what speaks for it', () => {
    fc.assert(
      fc.property(anyPro, anyPro, anyCon, (cluesFor, more, against) => {
        expect(rank([...cluesFor, ...more], against)).toBeGreaterThanOrEqual(rank(cluesFor, against));
      }),
    );
  });
});
