import { describe, expect, it } from 'vitest';
import { SilenceWatch } from '../../../../src/frontend/proxy/watches/silence-watch.js';
import type { Try } from '../../../../src/frontend/proxy/workers/try.js';
import { WorkerLife } from '../../../../src/frontend/proxy/workers/worker-life.js';
import { FakeClock } from '../../../support/fake-clock.js';

/** A try at a worker that was last heard at 0, with a limit of 10 s. */
function setUp(isTrial = false) {
  const clock = new FakeClock();
  const failed: unknown[] = [];
  let asked = 0;
  const life = new WorkerLife();
  life.ask = () => {
    asked += 1;
  };
  const current = {
    route: { decision: { isTrial }, failed: (fault: unknown) => failed.push(fault) },
    endpoint: { worker: { life, pool: {} }, pathPrefix: '' },
  } as unknown as Try;
  const watch = new SilenceWatch({ firstByteTimeoutMs: 10_000 }, { clock });
  return { watch, current, life, failed, asked: () => asked };
}

describe('the watch of a silent worker', () => {
  it('asks the worker after half of the time, and reports it after all of it', () => {
    const { watch, current, failed, asked } = setUp();
    expect(watch.beforeAnswer(current, 0, 4_999)).toBeUndefined();
    expect(asked()).toBe(0);
    expect(watch.beforeAnswer(current, 0, 5_000)).toBeUndefined();
    expect(asked()).toBe(1);
    const detail = 'nothing for 10 s';
    expect(watch.beforeAnswer(current, 0, 10_000)).toMatchObject({ detail, isReported: true, isGone: false });
    expect(failed).toEqual([{ kind: 'silent', detail }]);
  });

  it('reports once in each such time, and for another worker immediately', () => {
    const { watch, current, failed } = setUp();
    watch.withinAnswer(current, 0, 10_000);
    expect(watch.withinAnswer(current, 0, 19_999)?.isReported).toBe(false);
    expect(watch.withinAnswer(current, 0, 20_000)?.isReported).toBe(true);
    watch.restart();
    expect(watch.withinAnswer(current, 0, 20_001)?.isReported).toBe(true);
    expect(failed).toHaveLength(3);
  });

  it('takes a worker for gone after four times as long, unless something came of it', () => {
    const { watch, current, life } = setUp();
    expect(watch.withinAnswer(current, 0, 39_999)?.isGone).toBe(false);
    expect(watch.withinAnswer(current, 0, 40_000)?.isGone).toBe(true);
    life.hear(39_000);
    expect(watch.withinAnswer(current, 0, 40_000)).toBeUndefined();
  });

  it('waits 5 s for a worker that is tried after it was ejected, until its answer begins', () => {
    const { watch, current } = setUp(true);
    expect(watch.beforeAnswer(current, 0, 5_000)?.isReported).toBe(true);
    expect(watch.withinAnswer(current, 0, 5_000)).toBeUndefined();
  });
});
