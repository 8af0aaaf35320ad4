import { afterEach, describe, expect, it } from 'vitest';
import type { AgreementOptions } from '../../src/core/agreement/state/options.js';
import type { AggregatorHarness } from '../support/aggregator-harness.js';
import { indexerOf, matches, tokens } from '../support/indexer-calls.js';
import { OpenThings } from '../support/open-things.js';
import {
  batchOf,
  cleared,
  FakePublisher,
  removed,
  stored,
} from '../worker/kv-events/support/fake-publisher.js';

const open = new OpenThings();
afterEach(() => open.close());

async function publisher(): Promise<FakePublisher> {
  const made = await FakePublisher.start();
  open.add(() => made.stop());
  return made;
}

/** An aggregator that reads `engines` itself: `w-0`, `w-1`, … */
function reading(
  engines: readonly FakePublisher[],
  { declares, ...options }: Partial<AgreementOptions> & { readonly declares?: number } = {},
): Promise<AggregatorHarness> {
  const directWorkers = engines.map(({ source }, index) => ({
    target: `w-${index}`,
    model: 'tiny',
    sources: [source],
    declaredTokensPerBlock: declares,
    version: '0.0.0',
  }));
  return open.aggregator([], options, { indexing: { directWorkers } });
}

describe('engines without a sidecar', () => {
  it('are agreed on by their own events, and answer for their blocks', async () => {
    const engine = await publisher();
    await engine.publish(batchOf(stored(10), stored(20, 10)));
    const harness = await reading([engine]);
    await harness.untilView(({ groups }) => groups[0]?.members[0]?.cacheView === 'exact');
    expect(harness.aggregator.fleet.runner.view.groups[0]).toMatchObject({
      group: 'tiny',
      gateOpen: true,
      values: { tokens_per_block: 4, hash_unit: 'token' },
      members: [{ target: 'w-0', workerId: 'w-0', state: 'verified' }],
    });
    const indexer = indexerOf(open, harness);
    const prompt = tokens([10, 11, 12, 13, 20, 21, 22, 23, 30]);
    expect(await matches(indexer, prompt)).toEqual(['w-0/0 2,2,2,2 1']);
    await engine.publish(batchOf(removed(20)));
    await expect.poll(() => matches(indexer, prompt)).toEqual(['w-0/0 1,1,1,1 1']);
    await engine.publish(batchOf(cleared));
    await expect.poll(() => matches(indexer, prompt)).toEqual([]);
  });

  it('say while they are silent what would make them speak', async () => {
    const harness = await reading([await publisher()]);
    await harness.untilView(({ unassigned, groups }) => {
      const [member] = [...unassigned, ...groups.flatMap(({ members }) => members)];
      return member?.state === 'incomplete';
    });
    const ready = await fetch(`${harness.http}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.text()).toContain('send it a prompt of at least one block');
  });

  it('are distinguished after a restart of their engine, and hold nothing of what the old one held', async () => {
    const [engine, other] = [await publisher(), await publisher()];
    for (const one of [engine, other]) await one.publish(batchOf(stored(10)));
    const harness = await reading([engine, other]);
    const untilCacheView = (count: number): Promise<void> =>
      harness.untilView(
        ({ groups }) => groups[0]?.members.filter(({ cacheView }) => cacheView === 'exact').length === count,
      );
    await untilCacheView(2);
    const before = harness.aggregator.fleet.runner.view.groups[0]?.members[0]?.instanceId;
    engine.stop();
    await engine.comeBack({ isNewProcess: true });
    await engine.publish(batchOf(stored(50)));
    const indexer = indexerOf(open, harness);
    await expect
      .poll(() => matches(indexer, tokens([10, 11, 12, 13])), { timeout: 10_000 })
      .toEqual(['w-1/0 1,1,1,1 1']);
    await expect
      .poll(() => matches(indexer, tokens([50, 51, 52, 53])), { timeout: 10_000 })
      .toEqual(['w-0/0 1,1,1,1 1']);
    const after = harness.aggregator.fleet.runner.view.groups[0]?.members[0]?.instanceId;
    expect(after).not.toBe(before);
  }, 30_000);

  it('V3: are caught at the first event when the operator insists on another size', async () => {
    const engine = await publisher();
    const harness = await reading([engine], {
      overrideTokensPerBlock: 16,
      declares: 16,
      mismatchedWorkers: 'load-only',
    });
    await harness.untilGate(true);
    await harness.untilView(({ groups }) => groups[0]?.routingMode === 'mixed');
    await engine.publish(batchOf(stored(10)));
    await harness.untilView(({ groups }) => groups[0]?.members[0]?.state === 'dissenting');
    await harness.untilView(({ groups }) => groups[0]?.routingMode === 'load_only');
    const [error] = harness.logger.lines.filter(({ level }) => level === 'error');
    expect(error?.message).toContain('Frontend KV block size (16) does not match worker block size (4).');
  });
});
