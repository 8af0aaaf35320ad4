import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../../src/edge/platform/clock.js';
import { SilenceWatch } from '../../../../src/edge/platform/streams/silence-watch.js';
import { FakeClock } from '../../../support/fake-clock.js';

describe('the silence watch', () => {
  it('looks at everybody once a second with one timer, and has none when there is nobody', async () => {
    const clock = new FakeClock();
    const watch = new SilenceWatch({ clock });
    const looks = [0, 0];
    const watched = looks.map((_, index) => ({
      look: () => {
        looks[index] = (looks[index] ?? 0) + 1;
      },
    }));
    for (const session of watched) watch.add(session);
    expect(clock.pendingTimers).toBe(1);
    await clock.advanceMs(3_000);
    for (const session of watched) watch.delete(session);
    expect([looks, clock.pendingTimers, watch.size]).toEqual([[3, 3], 0, 0]);
  });

  it('leaves no timer when the last one leaves while it is looked at', async () => {
    const clock = new FakeClock();
    const watch = new SilenceWatch({ clock });
    const session = { look: () => watch.delete(session) };
    watch.add(session);
    await clock.advanceMs(1_000);
    expect(clock.pendingTimers).toBe(0);
  });

  it('counts a minute in which this process stood still as one look', () => {
    // Timers of a process that was stopped fire once, late, when it goes on.
    let due: (() => void) | undefined;
    let nowMs = 0;
    const clock: Clock = {
      monotonicMs: () => nowMs,
      wallMs: () => nowMs,
      setTimer: (_delayMs, fire) => {
        due = fire;
        return { clear: () => undefined };
      },
    };
    const watch = new SilenceWatch({ clock });
    let looks = 0;
    watch.add({
      look: () => {
        looks += 1;
      },
    });
    nowMs += 60_000;
    due?.();
    expect(looks).toBe(1);
  });
});
