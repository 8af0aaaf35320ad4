import { describe, expect, it } from 'vitest';
import { HOLDING_COLUMNS } from '../../../src/core/view/view-document.js';
import { blocksIn, cacheRowsOf, tiersInUse } from '../../../src/page/model/cache-rows.js';
import { byId } from '../../../src/page/model/loads.js';
import { viewWorker } from '../support/view-workers.js';

type Held = Partial<Record<(typeof HOLDING_COLUMNS)[number], number>>;

const holdings = (...rows: readonly Held[]) =>
  byId(rows.map((held) => HOLDING_COLUMNS.map((name) => held[name] ?? 0)));

describe('what caches hold', () => {
  const held = holdings(
    { id: 1, deviceBlocks: 5 },
    { id: 2, deviceBlocks: 4, diskBlocks: 3, stored: 9, removed: 2 },
  );

  it('is shown of workers of which it is known, the fullest first', () => {
    const rows = cacheRowsOf([viewWorker(1), viewWorker(2), viewWorker(3)], held);
    expect(rows.map(({ worker, total }) => [worker.id, total])).toEqual([
      [2, 7],
      [1, 5],
    ]);
    expect(rows[0]).toMatchObject({ stored: 9, removed: 2 });
  });

  it('is shown by tier, and of those alone that hold something', () => {
    const rows = cacheRowsOf([viewWorker(1), viewWorker(2)], held);
    expect(tiersInUse(rows)).toEqual(['device', 'disk']);
    expect(rows.map((row) => blocksIn('disk', row))).toEqual([3, 0]);
    expect(tiersInUse([])).toEqual([]);
  });
});
