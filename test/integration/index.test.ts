import { afterEach, describe, expect, it } from 'vitest';
import { hashed, indexerOf, matches } from '../support/indexer-calls.js';
import { say } from '../support/kv-events.js';
import { OpenThings } from '../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

describe('the index of an aggregator, over real sockets', () => {
  it('gives every frontend that asks what a worker holds, from the snapshot and then from each change', async () => {
    const worker = await open.sidecar(
      'w-1',
      {},
      {
        kvEvents: () => [say.start(), say.part([1, 2, 3]), say.end()],
      },
    );
    const harness = await open.aggregator([worker]);
    await harness.untilView(({ groups }) => groups[0]?.members[0]?.picture === 'exact');
    const indexer = indexerOf(open, harness);
    expect(await matches(indexer, hashed([1, 2, 3, 4]))).toEqual([`${worker.address}/0 3,3,3,3 1`]);
    worker.sendEvents(say.stored(1, [4]), say.removed(2, [2]));
    await expect
      .poll(() => matches(indexer, hashed([1, 2, 3, 4])))
      .toEqual([`${worker.address}/0 1,1,1,1 1`]);
    expect(harness.aggregator.fleet.runner.view.groups[0]?.routingMode).toBe('exact');
  });
});
