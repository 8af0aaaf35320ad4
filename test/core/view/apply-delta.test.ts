import { describe, expect, it } from 'vitest';
import { applyDelta } from '../../../src/core/view/apply-delta.js';
import type {
  ViewBucket,
  ViewDelta,
  ViewDocument,
  ViewEntry,
  ViewWorker,
} from '../../../src/core/view/view-document.js';

const EMPTY: ViewDocument = {
  version: 1,
  processId: 'p',
  sequence: 7,
  atMs: 1_000_000,
  process: { title: 't', productVersion: '1', startedAtMs: 0, routes: true, notes: [] },
  headline: { text: 'open', tone: 'good' },
  models: [],
  workers: [],
  workerCount: 0,
  loads: [],
  holdings: [],
  routing: [],
  decisions: [],
  timeline: [],
};

function delta(part: Partial<ViewDelta>): ViewDelta {
  return { processId: 'p', sequence: 8, atMs: 1_001_000, ...part };
}

function worker(id: number, why = ''): ViewWorker {
  return { id, why } as ViewWorker;
}

describe('applyDelta', () => {
  it('takes no delta of another start of the process, and none that does not follow', () => {
    expect(applyDelta(EMPTY, delta({ processId: 'q' }))).toBeUndefined();
    expect(applyDelta(EMPTY, delta({ sequence: 9 }))).toBeUndefined();
    expect(applyDelta(EMPTY, delta({ sequence: 7 }))).toBeUndefined();
  });

  it('keeps what a delta does not name', () => {
    const next = applyDelta({ ...EMPTY, workers: [worker(1)] }, delta({}));
    expect(next).toEqual({ ...EMPTY, sequence: 8, atMs: 1_001_000, workers: [worker(1)] });
  });

  it('changes, adds and removes workers with their rows', () => {
    const before = {
      ...EMPTY,
      workers: [worker(1), worker(2), worker(3)],
      loads: [
        [1, 5],
        [2, 6],
      ],
      holdings: [[2, 9]],
    };
    const next = applyDelta(
      before,
      delta({ workers: [worker(4), worker(1, 'lost')], gone: [2], loads: [[4, 1]] }),
    );
    expect(next?.workers).toEqual([worker(1, 'lost'), worker(3), worker(4)]);
    expect(next?.loads).toEqual([
      [1, 5],
      [4, 1],
    ]);
    expect(next?.holdings).toEqual([]);
  });

  it('replaces the bucket that is still filled, forgets old ones, and models that are gone', () => {
    const bucket = (atMs: number, decisions: number): ViewBucket => ({ atMs, decisions }) as ViewBucket;
    const before = {
      ...EMPTY,
      routing: [
        { group: 'a', bucketMs: 10_000, buckets: [bucket(90_000, 1), bucket(990_000, 2)] },
        { group: 'b', bucketMs: 10_000, buckets: [bucket(990_000, 3)] },
      ],
    };
    const next = applyDelta(
      before,
      delta({
        routing: [
          { group: 'a', bucketMs: 10_000, buckets: [bucket(990_000, 5), bucket(1_000_000, 1)] },
          { group: 'b', bucketMs: 10_000, buckets: [] },
        ],
      }),
    );
    expect(next?.routing).toEqual([
      { group: 'a', bucketMs: 10_000, buckets: [bucket(990_000, 5), bucket(1_000_000, 1)] },
    ]);
  });

  it('keeps the last thousand entries of the timeline', () => {
    const entry = (id: number): ViewEntry => ({ id }) as ViewEntry;
    const before = { ...EMPTY, timeline: Array.from({ length: 1_000 }, (_, id) => entry(id)) };
    const next = applyDelta(before, delta({ timeline: [entry(1_000)] }));
    expect(next?.timeline.length).toBe(1_000);
    expect(next?.timeline.at(-1)).toEqual(entry(1_000));
  });
});
