import { describe, expect, it } from 'vitest';
import { StreamRefusals } from '../../../../src/edge/platform/streams/stream-refusals.js';
import { type QueuedTask, WorkQueue } from '../../../../src/fleet/indexer/groups/work-queue.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { RecordingLogger } from '../../../support/recording-logger.js';

function make(): { queue: WorkQueue; clock: FakeClock; refusals: StreamRefusals; logger: RecordingLogger } {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const refusals = new StreamRefusals({ logger });
  const queue = new WorkQueue({ clock, turns: { soon: (run) => clock.setTimer(0, run) }, refusals });
  return { queue, clock, refusals, logger };
}

function failing(failed?: (error: unknown) => void): QueuedTask {
  const step = (): never => {
    throw new RangeError('Invalid time value');
  };
  return failed === undefined ? { step } : { step, failed };
}

describe('the work queue', () => {
  it('ends the work of one whose step fails, and goes on with the others', async () => {
    const { queue, clock } = make();
    const errors: unknown[] = [];
    let steps = 0;
    queue.add(failing((error) => errors.push(error)));
    queue.add({
      step: () => {
        steps += 1;
        return steps < 40;
      },
    });
    await clock.advanceMs(10);
    expect(errors).toEqual([new RangeError('Invalid time value')]);
    expect(steps).toBe(40);
    expect(clock.pendingTimers).toBe(0);
  });

  it('counts and logs a fault that nobody else takes', async () => {
    const { queue, clock, refusals, logger } = make();
    queue.add(failing());
    queue.add(
      failing(() => {
        throw new Error('it cannot even end');
      }),
    );
    await clock.advanceMs(10);
    expect(refusals.countOf('fault')).toBe(2);
    expect(logger.messages('error')).toHaveLength(2);
  });
});
