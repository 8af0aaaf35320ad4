import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RuleHits } from '../../../../src/tools/doctor/logs/rule-hits.js';

function rulesOf(hits: RuleHits): number[] {
  return Array.from({ length: hits.count }, (_, place) => hits.at(place));
}

describe('the rules of a line', () => {
  it('are in the order in which their needles begin, each once, however they come', () => {
    const hit = fc.record({ rule: fc.nat(5), start: fc.nat(9) });
    const hits = new RuleHits();
    fc.assert(
      fc.property(fc.array(hit, { minLength: 1, maxLength: 12 }), (all) => {
        hits.clear();
        for (const { rule, start } of all) hits.add(rule, start);
        const ordered = [...all].sort((a, b) => a.start - b.start || a.rule - b.rule);
        expect(rulesOf(hits)).toEqual([...new Set(ordered.map(({ rule }) => rule))]);
        expect(hits.first).toBe(ordered[0]?.start);
      }),
    );
  });
});
