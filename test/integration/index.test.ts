import { afterEach, describe, expect, it } from 'vitest';
import { IndexerClient } from '../../src/gen/kvaccord/v1/indexer.js';
import { parseAddress } from '../../src/platform/address.js';
import { systemClock } from '../../src/platform/clock.js';
import { callUnary } from '../../src/rpc/call-unary.js';
import type { AggregatorHarness } from '../support/aggregator-harness.js';
import { pack, say } from '../support/kv-events.js';
import { OpenThings } from '../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

const call = { clock: systemClock, timeoutMs: 5_000 };

/** A client of `kvaccord.v1.Indexer` of an aggregator. */
function indexerOf(harness: AggregatorHarness): IndexerClient {
  const address = parseAddress(harness.grpc);
  if (address === undefined) throw new Error('it does not serve');
  const channel = harness.dialer.dial(address);
  open.add(() => channel.close());
  return channel.createClient(IndexerClient);
}

/** `target/rank device,host,disk,external picture` for each match. */
async function matches(indexer: IndexerClient, hashes: readonly number[]): Promise<string[]> {
  const response = await callUnary(
    indexer.findMatches.bind(indexer),
    {
      group: '',
      prompt: { form: { $case: 'sequenceHashes', value: pack(hashes) }, loraName: '', cacheSalt: '' },
    },
    call,
  );
  return response.matches.map(
    (m) =>
      `${m.target}/${m.dataParallelRank} ${m.deviceBlocks},${m.hostBlocks},${m.diskBlocks},${m.externalBlocks} ${m.picture}`,
  );
}

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
    const indexer = indexerOf(harness);
    expect(await matches(indexer, [1, 2, 3, 4])).toEqual([`${worker.address}/0 3,3,3,3 1`]);
    worker.sendEvents(say.stored(1, [4]), say.removed(2, [2]));
    await expect.poll(() => matches(indexer, [1, 2, 3, 4])).toEqual([`${worker.address}/0 1,1,1,1 1`]);
    expect(harness.aggregator.fleet.runner.view.groups[0]?.routingMode).toBe('exact');
  });
});
