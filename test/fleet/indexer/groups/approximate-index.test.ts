import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MemberView } from '../../../../src/core/agreement/view/snapshot.js';
import {
  ApproximateIndex,
  type ApproximateOptions,
} from '../../../../src/fleet/indexer/groups/approximate-index.js';
import { ExpiryQueue } from '../../../../src/fleet/indexer/groups/expiry-queue.js';
import { WorkQueue } from '../../../../src/fleet/indexer/groups/work-queue.js';
import { askedPrompt } from '../../../support/asked-prompt.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { pack } from '../../../support/kv-events.js';
import { strictRefusals } from '../../../support/strict-refusals.js';

function make(options: Partial<ApproximateOptions> = {}): { index: ApproximateIndex; clock: FakeClock } {
  const clock = new FakeClock();
  const queue = new WorkQueue({
    clock,
    turns: { soon: (run) => clock.setTimer(0, run) },
    refusals: strictRefusals(),
  });
  const index = new ApproximateIndex(
    {
      epoch: 1,
      tokensPerBlock: 32,
      hashUnit: 'token',
      ttlMs: 1_000,
      maxBlocks: 10,
      pruneTargetRatio: 0.5,
      ...options,
    },
    { clock, queue },
  );
  return { index, clock };
}

function find(index: ApproximateIndex, ...hashes: readonly number[]): string[] {
  return index
    .find(askedPrompt(pack(hashes)))
    .map(({ target, rank, blocks }) => `${target}/${rank} ${blocks[0]}`);
}

describe('an index of guesses', () => {
  it('expects blocks where they were sent last, until their time is over', async () => {
    const { index, clock } = make();
    expect(index.record('a', 0, pack([1, 2]))).toBe(true);
    await clock.advanceMs(600);
    index.record('b', 1, pack([1]));
    index.record('a', 0, pack([1]));
    expect(find(index, 1, 2)).toEqual(['a/0 2', 'b/1 1']);
    await clock.advanceMs(500);
    expect(find(index, 1, 2)).toEqual(['a/0 1', 'b/1 1']);
    await clock.advanceMs(500);
    expect(find(index, 1, 2)).toEqual([]);
    expect([index.blocks, clock.pendingTimers]).toEqual([0, 0]);
  });

  it('gives memory back also when nobody asks', async () => {
    const { index, clock } = make();
    index.record('a', 0, pack([1, 2, 3]));
    await clock.advanceMs(1_001);
    expect(index.blocks).toBe(0);
  });

  it('prunes the oldest down to its target when there are too many', async () => {
    const { index, clock } = make();
    for (let hash = 1; hash <= 10; hash += 1) {
      index.record('a', 0, pack([hash]));
      await clock.advanceMs(1);
    }
    expect(index.blocks).toBe(10);
    index.record('a', 0, pack([11]));
    expect(index.blocks).toBe(5);
    expect(find(index, 6)).toEqual([]);
    expect(find(index, 7)).toEqual(['a/0 1']);
  });

  it('takes no more than its bound of a prompt that is longer', () => {
    const { index } = make();
    index.record('a', 0, pack(Array.from({ length: 10_000 }, (_, hash) => hash * 7_919 + 1)));
    expect(index.blocks).toBeLessThanOrEqual(10);
  });

  it('forgets exactly the worker that leaves', async () => {
    const { index, clock } = make();
    index.record('a', 0, pack([1, 2]));
    index.record('b', 0, pack([1]));
    const members = [{ target: 'b', offer: 'full' }] as unknown as MemberView[];
    index.setMembers(members);
    await clock.advanceMs(1);
    expect(find(index, 1, 2)).toEqual(['b/0 1']);
    expect(index.blocks).toBe(1);
    index.close();
    expect(clock.pendingTimers).toBe(0);
  });

  it('bounds the ranks that a client may name', () => {
    const { index } = make({ maxBlocks: 10_000 });
    for (let rank = 0; rank < 1_024; rank += 1) expect(index.record('a', rank, pack([1]))).toBe(true);
    expect(index.record('a', 4_000_000_000, pack([1]))).toBe(false);
  });
});

describe('the queue of what expires', () => {
  const step = fc.record({
    what: fc.constantFrom('touch', 'touch', 'touch', 'drop oldest', 'drop holder'),
    holder: fc.integer({ min: 0, max: 3 }),
    hash: fc.integer({ min: 0, max: 30 }),
  });

  it('keeps the order of a plain map under any touches and drops', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 3_000 }), (steps) => {
        const queue = new ExpiryQueue();
        const model = new Map<string, number>();
        for (const [atMs, { what, holder, hash }] of steps.entries()) {
          const key = `${holder} ${hash} ${hash * 3}`;
          if (what === 'touch') {
            model.delete(key);
            model.set(key, atMs);
            queue.touch(holder, hash, hash * 3, atMs);
          } else if (what === 'drop oldest') {
            const [first] = model.keys();
            if (first !== undefined) model.delete(first);
            queue.dropOldest();
          } else {
            for (const held of model.keys()) if (held.startsWith(`${holder} `)) model.delete(held);
            queue.dropHolder(holder);
          }
          const [oldest] = model;
          const { oldest: found } = queue;
          expect(found === undefined ? undefined : `${found.holder} ${found.low} ${found.high}`).toBe(
            oldest?.[0],
          );
          expect([queue.size, found?.atMs]).toEqual([model.size, oldest?.[1]]);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('grows as it needs', () => {
    const queue = new ExpiryQueue();
    for (let hash = 0; hash < 10_000; hash += 1) queue.touch(0, hash, 0, hash);
    for (let hash = 0; hash < 10_000; hash += 1) {
      expect(queue.oldest?.low).toBe(hash);
      queue.dropOldest();
    }
    expect(queue.size).toBe(0);
  });
});
