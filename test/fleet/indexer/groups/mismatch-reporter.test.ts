import { describe, expect, it } from 'vitest';
import { MismatchReporter } from '../../../../src/fleet/indexer/groups/mismatch-reporter.js';
import { FakeClock } from '../../../support/fake-clock.js';

function make(): { reporter: MismatchReporter; clock: FakeClock; reported: string[] } {
  const clock = new FakeClock();
  const reported: string[] = [];
  const reporter = new MismatchReporter({
    clock,
    onFirst: () => clock.setTimer(0, () => reporter.reportFirst()),
    report: (target, instanceId, width, count) => reported.push(`${target} ${instanceId} ${width} ${count}`),
  });
  return { reporter, clock, reported };
}

describe('V3: events of another width', () => {
  it('are reported immediately for the first of an instance, then in sums', async () => {
    const { reporter, clock, reported } = make();
    reporter.add('w-1', 'i-1', 16);
    await clock.advanceMs(0);
    expect(reported).toEqual(['w-1 i-1 16 1']);
    for (let event = 0; event < 50; event += 1) reporter.add('w-1', 'i-1', 16);
    await clock.advanceMs(999);
    expect(reported).toHaveLength(1);
    await clock.advanceMs(1);
    expect(reported).toEqual(['w-1 i-1 16 1', 'w-1 i-1 16 50']);
    reporter.add('w-1', 'i-2', 16);
    reporter.add('w-2', 'i-1', 64);
    await clock.advanceMs(0);
    expect(reported.slice(2)).toEqual(['w-1 i-2 16 1', 'w-2 i-1 64 1']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('are reported once and with their number, when several come before the first is reported', async () => {
    const { reporter, clock, reported } = make();
    for (let event = 0; event < 3; event += 1) reporter.add('w-1', 'i-1', 16);
    await clock.advanceMs(2_000);
    expect(reported).toEqual(['w-1 i-1 16 3']);
  });

  it('leave no timer behind', async () => {
    const { reporter, clock } = make();
    reporter.add('w-1', 'i-1', 16);
    await clock.advanceMs(0);
    reporter.add('w-1', 'i-1', 16);
    reporter.close();
    expect(clock.pendingTimers).toBe(0);
  });
});
