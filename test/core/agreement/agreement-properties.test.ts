import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AgreementEvent } from '../../../src/core/agreement/state/events.js';
import type { AgreementOptions } from '../../../src/core/agreement/state/options.js';
import type { Group } from '../../../src/core/agreement/state/state.js';
import type { GroupView } from '../../../src/core/agreement/view/snapshot.js';
import { TestFleet } from '../../support/fleet.js';
import { propertyRuns } from '../../support/property-runs.js';
import { anyCacheView, anyEvent, asReport, options, sketch, TARGETS } from './any-fleet.js';

/** What must be equal when two fleets came to the same: order of members left out. */
function essence(group: GroupView | undefined): unknown {
  if (group === undefined) return undefined;
  const members = [...group.members].sort((x, y) => x.target.localeCompare(y.target));
  return { ...group, epoch: undefined, members };
}

describe('A1: with min_workers auto', () => {
  it('no gate opens before as many have reported as are expected, and none shuts because more are', () => {
    fc.assert(
      fc.property(options, fc.array(anyEvent(TARGETS), { maxLength: 40 }), (made, events) => {
        const fleet = new TestFleet({ ...made, minWorkers: 'auto' });
        fleet.do({
          type: 'listed',
          members: TARGETS.map((target) => ({ target, draining: false })),
          expected: { count: TARGETS.length, origin: 'Deployment w' },
        });
        const step = (event: AgreementEvent): void => {
          const isOpen = (): string[] =>
            fleet.view().groups.flatMap(({ group, gateOpen }) => (gateOpen ? [group] : []));
          const before = isOpen();
          fleet.do(event);
          const { groups, expected } = fleet.state;
          const reported = [...groups.values()].reduce((sum, { tallies }) => sum + tallies.deciding, 0);
          // A12: with a quorum, half of those that have a machine are enough after a while.
          const share = made.onMissing === 'quorum' ? 0.5 : 1;
          const unscheduled = made.onMissing === 'quorum' ? fleet.state.unscheduled : 0;
          const isEnough = expected !== undefined && reported >= (expected.count - unscheduled) * share;
          if (!isEnough) expect(isOpen().filter((group) => !before.includes(group))).toEqual([]);
        };
        for (const event of events) {
          if (event.type === 'wait') fleet.advance(event.ms);
          else step(event);
        }
        const gates = fleet.view().groups.map(({ gateOpen }) => gateOpen);
        const members = [...fleet.state.members.keys()].map((target) => ({ target, draining: false }));
        fleet.do({ type: 'listed', members, expected: { count: 100, origin: 'Deployment w' } });
        expect(fleet.view().groups.map(({ gateOpen }) => gateOpen)).toEqual(gates);
      }),
    );
  });
});

describe('A11: the order and duplication of reports never change the outcome', () => {
  it('before agreement the same set of reports in any order gives the same state', () => {
    fc.assert(
      fc.property(
        fc.array(sketch, { minLength: TARGETS.length, maxLength: TARGETS.length }),
        fc.shuffledSubarray([...TARGETS], { minLength: TARGETS.length }),
        fc.array(fc.nat({ max: TARGETS.length - 1 }), { maxLength: 10 }),
        options,
        (sketches, order, duplicates, made) => {
          // The last listed never speaks, so that nothing is agreed before all reports are in.
          const run = (sequence: readonly string[]): TestFleet => {
            const fleet = new TestFleet({
              ...made,
              minWorkers: TARGETS.length + 1,
              overrideTokensPerBlock: undefined,
            });
            fleet.list(...TARGETS, 'silent');
            for (const target of sequence) {
              fleet.report(target, asReport(sketches[TARGETS.indexOf(target)] as never));
            }
            return fleet;
          };
          const again = duplicates.map((index) => TARGETS[index] as string);
          const [first, second] = [run(TARGETS), run([...order, ...again])];
          expect(second.view().groups.map(essence)).toEqual(first.view().groups.map(essence));
        },
      ),
    );
  });

  it('with a settle time between, the agreed contract does not depend on the order either', () => {
    fc.assert(
      fc.property(
        fc.array(sketch, { minLength: TARGETS.length, maxLength: TARGETS.length }),
        fc.shuffledSubarray([...TARGETS], { minLength: TARGETS.length }),
        (sketches, order) => {
          const run = (sequence: readonly string[]): unknown => {
            const fleet = new TestFleet();
            fleet.list(...TARGETS);
            for (const target of sequence) {
              fleet.report(target, asReport(sketches[TARGETS.indexOf(target)] as never));
            }
            fleet.advance(5_000);
            return fleet.view().groups.map(essence);
          };
          expect(run(order)).toEqual(run(TARGETS));
        },
      ),
    );
  });

  it('after agreement neither does that of reports, cache views and mismatching events of a minority', () => {
    const story = fc.record({
      instance: fc.integer({ min: 1, max: 2 }),
      // Another model would be another epoch, and a cache view counts in one alone.
      report: sketch.map((report) => ({ ...report, model: 'tiny' })),
      known: anyCacheView,
      viewInstance: fc.integer({ min: 1, max: 2 }),
      width: fc.constantFrom(16, 32, 64),
      mismatched: fc.integer({ min: 1, max: 2 }),
    });
    const steps = ['a', 'b'].flatMap((target) =>
      (['report', 'cache_view', 'mismatch'] as const).map((step) => [target, step] as const),
    );
    fc.assert(
      fc.property(
        fc.record({ a: story, b: story }),
        fc.shuffledSubarray(steps, { minLength: steps.length }),
        options,
        (stories, order, made) => {
          const run = (sequence: typeof order): unknown => {
            const fleet = new TestFleet({ ...made, minWorkers: 1, isStaticDiscovery: true });
            fleet.list(...TARGETS);
            for (const target of TARGETS) fleet.report(target);
            for (const [target, step] of sequence) {
              const { instance, report, known, viewInstance, width, mismatched } =
                stories[target as 'a' | 'b'];
              if (step === 'report') {
                fleet.report(target, { ...asReport(report), instance: `${target}-${instance}`, revision: 2 });
              } else if (step === 'cache_view') {
                fleet.cacheViewChanged(target, known, 'a gap', `${target}-${viewInstance}`);
              } else fleet.mismatched(target, width, 3, `${target}-${mismatched}`);
            }
            return fleet.view().groups.map(essence);
          };
          expect(run(order)).toEqual(run(steps));
        },
      ),
      { numRuns: propertyRuns(250) },
    );
  });

  it('a duplicate of any event right after it changes nothing and says nothing', () => {
    fc.assert(
      fc.property(options, fc.array(anyEvent(TARGETS), { maxLength: 40 }), (made, events) => {
        const fleet = new TestFleet(made);
        fleet.list(...TARGETS);
        for (const event of events) {
          if (event.type === 'wait') {
            fleet.advance(event.ms);
            continue;
          }
          fleet.do(event);
          const before = JSON.stringify(fleet.view(), bigintText);
          // Events that were not applied are counted each time: twice as many came.
          expect(fleet.do(event).filter(({ type }) => type !== 'mismatch')).toEqual([]);
          expect(JSON.stringify(fleet.view(), bigintText)).toBe(before);
        }
      }),
    );
  });
});

const bigintText = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? `${value}` : value;

describe('whatever happens', () => {
  it('a gate never opens on a minority, and every answer that says no has a reason', () => {
    fc.assert(
      fc.property(options, fc.array(anyEvent(TARGETS), { maxLength: 60 }), (made, events) => {
        const fleet = new TestFleet(made);
        fleet.list(...TARGETS);
        for (const event of events) {
          const effects = event.type === 'wait' ? fleet.advance(event.ms) : fleet.do(event);
          const view = fleet.view();
          if (view.groups.length === 0) expect(view.reasons.length).toBeGreaterThan(0);
          for (const group of view.groups) {
            if (!group.ready) expect(group.reasons.length).toBeGreaterThan(0);
            if (group.gateOpen && group.ready) expect(group.reasons).toEqual([]);
          }
          checkOpening(fleet, made, effects);
        }
      }),
      { numRuns: propertyRuns(150) },
    );
  });

  it('the counts that make it fast are those that a recount from scratch gives', () => {
    fc.assert(
      fc.property(options, fc.array(anyEvent(TARGETS), { maxLength: 60 }), (made, events) => {
        const fleet = new TestFleet(made);
        fleet.list(...TARGETS);
        for (const event of events) {
          if (event.type === 'wait') fleet.advance(event.ms);
          else fleet.do(event);
          const members = [...fleet.state.members.values()];
          const drains = (m: (typeof members)[number]): boolean =>
            m.listedDraining || m.report?.draining === true;
          expect(fleet.state.unassigned).toBe(
            members.filter((m) => m.group === undefined && m.turnedAway === '' && !drains(m)).length,
          );
          for (const group of fleet.state.groups.values()) {
            const own = members.filter((m) => m.group === group);
            const deciding = own.filter((m) => m.tally !== undefined);
            expect(group.members.size).toBe(own.length);
            expect(group.tallies.deciding).toBe(deciding.length);
            expect(group.tallies.dissenting).toBe(deciding.filter((m) => m.tally?.conforms === false).length);
            expect(group.contradicting).toBe(
              deciding.filter((m) => m.report?.declared !== undefined && made.frontendUses === 'declared')
                .length,
            );
            checkMode(fleet, group.name, made);
            expect(group.missing).toBe(own.filter((m) => m.tally === undefined && !drains(m)).length);
          }
        }
      }),
    );
  });
});

/** G7: the mode, computed again from what is said of each member. */
function checkMode(fleet: TestFleet, name: string, made: Partial<AgreementOptions>): void {
  const { routingMode, gateOpen, members } = fleet.group(name);
  const offered = members.filter(({ offer }) => offer !== 'none');
  const known = offered.filter(
    ({ offer, cacheView: of }) => offer === 'full' && of !== undefined && of !== 'none',
  );
  const exact = known.filter(({ cacheView: of, state }) => of === 'exact' && state !== 'lost');
  const byPicture =
    exact.length === offered.length ? 'exact' : known.length > 0 ? ('mixed' as const) : 'load_only';
  const byOffer =
    offered.length === 0 ? 'load_only' : made.kvEvents === 'approximate' ? 'approximate' : byPicture;
  expect(routingMode).toBe(gateOpen ? byOffer : 'closed');
}

/** A12: those who are missing and may have a value cannot be more than those who agreed. */
function checkQuorum(fleet: TestFleet, group: Group, made: Partial<AgreementOptions>): void {
  if (made.onMissing !== 'quorum') return;
  const silent = [...fleet.state.members.values()].filter(
    (m) => m.tally === undefined && !m.unscheduled && !m.listedDraining && m.report?.draining !== true,
  );
  const own = silent.filter((m) => m.group === undefined || m.group === group);
  expect(group.tallies.deciding).toBeGreaterThanOrEqual(own.length);
}

/** When an epoch begins, no majority of those who reported may hold another contract. */
function checkOpening(
  fleet: TestFleet,
  made: Partial<AgreementOptions>,
  effects: ReturnType<TestFleet['do']>,
): void {
  for (const effect of effects) {
    if (effect.type !== 'epoch_started' || made.overrideTokensPerBlock !== undefined) continue;
    const group = fleet.state.groups.get(effect.group);
    if (group?.phase.state !== 'agreed' || group.phase.epoch !== effect.epoch) continue;
    const { deciding, dissenting } = group.tallies;
    expect(dissenting * 2).toBeLessThan(Math.max(deciding, 1));
    if (group.awaited.size > 0) {
      expect(made.onMissing).not.toBe('wait');
      checkQuorum(fleet, group, made);
    }
  }
}
