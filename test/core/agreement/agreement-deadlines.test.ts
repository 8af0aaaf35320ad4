import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AgreementEvent } from '../../../src/core/agreement/state/events.js';
import { makeReport, TestFleet } from '../../support/fleet.js';
import { propertyRuns } from '../../support/property-runs.js';
import { anyEvent, options, TARGETS } from './any-fleet.js';

/** How far from a deadline an event lands, in milliseconds: before, on and after it, by less than any timer's step. */
const offsets = fc.constantFrom(-1, -0.4, 0, 0.4, 1, 7);

const bigintText = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? `${value}` : value;

const words = (fleet: TestFleet): string => JSON.stringify(fleet.view(), bigintText);

/**
 * Lets an event happen, and then asks for a tick of the same moment: it finds
 * nothing left to do, unless the timer for that is set already.
 */
function doAndTick(fleet: TestFleet, event: AgreementEvent): void {
  fleet.do(event);
  const before = words(fleet);
  const isSet = fleet.state.dueAtMs !== undefined && fleet.state.dueAtMs <= fleet.nowMs;
  const effects = fleet.do({ type: 'tick' });
  if (isSet) return;
  expect(effects.map((effect) => ('message' in effect ? effect.message : effect.type))).toEqual([]);
  expect(words(fleet)).toBe(before);
}

describe('deadlines', () => {
  it('whatever lands before, on or after a deadline, its tick is never lost', () => {
    const events = fc.array(fc.record({ event: anyEvent(TARGETS), offsetMs: offsets }), { maxLength: 40 });
    const waits = fc.record({
      settleMs: fc.constantFrom(0, 2_000),
      graceMs: fc.constantFrom(0, 30_000),
      collectTimeoutMs: fc.constantFrom(1_000, 60_000),
    });
    fc.assert(
      fc.property(options, waits, events, (made, times, steps) => {
        const fleet = new TestFleet({ ...made, ...times });
        fleet.list(...TARGETS);
        for (const { event, offsetMs } of steps) {
          // No timer fires here: events alone move the time on, close to what is due.
          const dueAtMs = fleet.state.dueAtMs ?? fleet.nowMs;
          fleet.nowMs = Math.max(fleet.nowMs, dueAtMs + offsetMs);
          if (event.type === 'wait') fleet.advance(event.ms);
          else doAndTick(fleet, event);
          for (const group of fleet.view().groups) {
            if (!group.ready) expect(group.reasons).not.toEqual([]);
          }
        }
      }),
      { numRuns: propertyRuns(120) },
    );
  });

  it('a fleet that stands still opens at the first event after its deadline, or at its tick', () => {
    fc.assert(
      fc.property(offsets, fc.boolean(), (offsetMs, isBusy) => {
        const fleet = new TestFleet({ onMissing: 'proceed', collectTimeoutMs: 5_000 });
        fleet.list('a', 'silent');
        fleet.report('a');
        fleet.nowMs = 5_000 + offsetMs;
        if (isBusy) fleet.broken('silent', `attempt ${offsetMs}`);
        if (offsetMs < 0 || !isBusy) fleet.advance(8);
        expect(fleet.group()).toMatchObject({ gateOpen: true, reasons: [] });
      }),
    );
  });

  it('a wait of zero is over in the same moment, also right after a tick', () => {
    const fleet = new TestFleet({ graceMs: 0, settleMs: 0 });
    fleet.list('a', 'b');
    fleet.report('a');
    fleet.report('b', { size: 64 });
    fleet.do({ type: 'tick' });
    fleet.do({ type: 'report', target: 'b', report: makeReport('b', { revision: 2 }) });
    expect(fleet.group().gateOpen).toBe(true);
    fleet.do({ type: 'tick' });
    fleet.broken('b');
    expect(fleet.state.dueAtMs).toBe(fleet.nowMs);
    fleet.advance(0);
    expect(fleet.member('b').state).toBe('discovered');
  });
});
