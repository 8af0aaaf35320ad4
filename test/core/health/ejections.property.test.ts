import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EjectionChange, Ejections } from '../../../src/core/health/ejections.js';
import { FAULT_KINDS } from '../../../src/core/health/worker-fault.js';

const TARGETS = ['a', 'b', 'c', 'd'];
const BASE_MS = 1_000;
const MAX_MS = 60_000;

type Step =
  | { readonly do: 'members'; readonly targets: readonly string[]; readonly start: number }
  | { readonly do: 'failed'; readonly target: string; readonly start: number; readonly kind: number }
  | { readonly do: 'answered' | 'chosen' | 'tried'; readonly target: string }
  | { readonly do: 'wait'; readonly ms: number };

const target = fc.constantFrom(...TARGETS);
const start = fc.integer({ min: 1, max: 2 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('members' as const), targets: fc.subarray(TARGETS), start }),
  { weight: 6, arbitrary: fc.record({ do: fc.constant('failed' as const), target, start, kind: fc.nat(7) }) },
  fc.record({ do: fc.constantFrom('answered' as const, 'chosen' as const, 'tried' as const), target }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 2 * MAX_MS }) }),
);

describe('ejections, whatever happens in whatever order', () => {
  it('never bar the last worker, stay within their bounds, and let every worker come back', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 80 }),
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 1 }),
        (steps, afterFailures, draws) => {
          let drawn = 0;
          const ejections = new Ejections(
            { afterFailures, baseMs: BASE_MS, maxMs: MAX_MS },
            { draw: () => draws[drawn++ % draws.length] as number },
          );
          let nowMs = 0;
          let members: readonly string[] = [];
          const shown = new Set<string>();
          const take = (change: EjectionChange | undefined): void => {
            if (change === undefined) return;
            if (change.type === 'returned') {
              expect(shown.delete(change.target)).toBe(true);
              expect(change.why === 'left').toBe(!members.includes(change.target));
              return;
            }
            shown.add(change.target);
            expect(change.forMs).toBeLessThanOrEqual(MAX_MS);
            expect(change.forMs).toBeGreaterThanOrEqual(BASE_MS * 0.8);
          };
          for (const each of steps) {
            switch (each.do) {
              case 'wait':
                nowMs += each.ms;
                break;
              case 'members':
                members = each.targets;
                for (const change of ejections.setMembers(
                  members.map((name) => ({ target: name, instanceId: `${name}-${each.start}`, address: '' })),
                  nowMs,
                ))
                  take(change);
                break;
              case 'failed':
                take(
                  ejections.failed(
                    each.target,
                    `${each.target}-${each.start}`,
                    { kind: FAULT_KINDS[each.kind] ?? 'cut', detail: '' },
                    nowMs,
                  ),
                );
                break;
              case 'answered':
                take(ejections.answered(each.target, nowMs));
                break;
              case 'chosen':
                expect(ejections.chosen(each.target)).toBe(shown.has(each.target));
                break;
              case 'tried':
                ejections.tried(each.target);
                break;
            }
            const barred = ejections.barred(nowMs);
            expect(members.length === 0 || barred.length < members.length).toBe(true);
            for (const name of barred) expect(shown.has(name)).toBe(true);
            expect([...ejections.ejected].sort()).toEqual([...shown].sort());
          }
          // Whatever was: after the longest time each gets its try, and an answer brings it back.
          for (const name of [...shown]) ejections.tried(name);
          nowMs += MAX_MS + 10_000;
          expect(ejections.barred(nowMs)).toEqual([]);
          expect(ejections.overdue(nowMs) === undefined).toBe(shown.size === 0);
          for (const name of [...shown]) {
            expect(ejections.chosen(name)).toBe(true);
            expect(ejections.barred(nowMs)).toContain(name);
            take(ejections.answered(name, nowMs));
          }
          expect(ejections.hasAny).toBe(false);
        },
      ),
      { numRuns: 300 },
    );
  });
});
