import type { Clock } from '../../src/edge/platform/clock.js';
import { systemClock } from '../../src/edge/platform/clock.js';

/** What is left of a pause. */
const SHARE = 1 / 20;

/**
 * The system's clock, on which pauses take a twentieth of their time. Only a wait that nothing ends but its time is a
 * pause, such as that before another attempt: a time-out that were shortened would make a test depend on the machine's
 * speed.
 */
export function briskClock(isPause: (delayMs: number) => boolean): Clock {
  return {
    monotonicMs: () => systemClock.monotonicMs(),
    wallMs: () => systemClock.wallMs(),
    setTimer: (delayMs, fire) => systemClock.setTimer(isPause(delayMs) ? delayMs * SHARE : delayMs, fire),
  };
}
