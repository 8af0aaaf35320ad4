import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { rolldown } from 'rolldown';
import { beforeAll, describe, expect, it } from 'vitest';
import { PrefixIndex, PrefixIndexReader } from '../../../src/core/blocks/prefix-index.js';
import { seededRandom } from '../../../src/edge/platform/random.js';
import { packedFrom } from '../../support/packed-hashes.js';
import type { ReadingReport, ReadingTask } from './support/reading-thread.js';

/** Where `kernel/index/layout.ts` puts the version, in 32-bit words. */
const VERSION_WORD = 16;

function randomHashes(random: () => number, count: number): Uint8Array {
  return new Uint8Array(Uint32Array.from({ length: 2 * count }, () => random() * 2 ** 32).buffer);
}

describe('a reader of a prefix index', () => {
  let threadUrl: URL;

  beforeAll(async () => {
    const bundle = await rolldown({
      input: fileURLToPath(new URL('support/reading-thread.ts', import.meta.url)),
      platform: 'node',
    });
    const { output } = await bundle.generate({ format: 'esm' });
    await bundle.close();
    threadUrl = new URL(`data:text/javascript;base64,${Buffer.from(output[0].code).toString('base64')}`);
  });

  it('finds what is there, and what comes and goes afterwards', () => {
    const index = new PrefixIndex();
    const holder = index.addHolder();
    const hashes = packedFrom([0n, 5n, 9n]);
    const readers = [new PrefixIndexReader(index.share()), new PrefixIndexReader(index.share())];
    expect(readers.map((reader) => reader.find(hashes, 'device').count)).toEqual([0, 0]);
    index.store(holder, 'device', hashes);
    // What one is answered is not overwritten when others ask.
    const answers = readers.map((reader) => reader.find(hashes, 'device'));
    index.find(packedFrom([77n]), 'device');
    expect(answers.map(({ count, holders, depths }) => [count, holders[0], depths[0]])).toEqual([
      [1, holder, 3],
      [1, holder, 3],
    ]);
    index.dropHolder(holder);
    expect(readers.map((reader) => reader.find(hashes, 'device').count)).toEqual([0, 0]);
  });

  it('in another thread sees each change as a whole, while the table splits, merges and moves', async () => {
    const index = new PrefixIndex();
    const [steady, toggled, churning] = [index.addHolder(), index.addHolder(), index.addHolder()];
    const { fraction: random } = seededRandom(7);
    const sequenceHashes = randomHashes(random, 200);
    index.store(steady, 'device', sequenceHashes);
    const churned = Array.from({ length: 8 }, () => randomHashes(random, 4_000));
    const control = new Int32Array(new SharedArrayBuffer(8));
    const task: ReadingTask = { shared: index.share(), sequenceHashes, steady, toggled, control };
    const thread = new Worker(threadUrl, { workerData: task });
    const reported = once(thread, 'message') as Promise<[ReadingReport]>;
    const ended = once(thread, 'exit');
    await once(thread, 'online');

    for (let round = 0; round < 100_000 && Atomics.load(control, 1) < 5_000; round += 1) {
      index.store(toggled, round % 3 === 0 ? 'host' : 'device', sequenceHashes);
      const churn = churned[round % churned.length] as Uint8Array;
      index.store(churning, 'device', churn);
      index.remove(toggled, round % 3 === 0 ? 'host' : 'device', sequenceHashes);
      if (round % 16 < 8) index.remove(churning, 'device', churn);
    }
    Atomics.store(control, 0, 1);
    const [{ wrong, withToggled, withoutToggled }] = await reported;
    await ended;
    expect(wrong).toEqual([]);
    expect(withToggled).toBeGreaterThan(0);
    expect(withoutToggled).toBeGreaterThan(0);
  });

  it('gives up when its writer has ended in the middle of a change', () => {
    const index = new PrefixIndex();
    const shared = index.share();
    const reader = new PrefixIndexReader(shared);
    Atomics.add(new Uint32Array(shared.memory.buffer), VERSION_WORD, 1);
    expect(() => reader.find(packedFrom([1n]), 'device')).toThrow(/its writer has ended/);
  });

  it('comes to an end whatever it reads', () => {
    const { fraction: random } = seededRandom(11);
    for (let run = 0; run < 40; run += 1) {
      const index = new PrefixIndex();
      const sequenceHashes = randomHashes(random, 500);
      for (let count = 1; count < 20; count += 1) {
        const holder = index.addHolder();
        index.store(holder, 'device', sequenceHashes.subarray(0, 8 * 25 * count));
        index.store(holder, 'disk', sequenceHashes.subarray(8 * 20 * count));
      }
      const shared = index.share();
      const reader = new PrefixIndexReader(shared);
      const words = new Uint32Array(shared.memory.buffer);
      for (let torn = 0; torn < 50; torn += 1) {
        const at = Math.floor(random() * words.length);
        if (at !== VERSION_WORD) words[at] = torn % 2 === 0 ? random() * 2 ** 32 : (words[at] as number) + 4;
        // All of what decides about addresses and lengths in turn.
        words[48 + (torn % 16)] = (words[48 + (torn % 16)] as number) ^ (1 << Math.floor(random() * 32));
        try {
          const { count } = reader.find(sequenceHashes, torn % 3 === 0 ? 'device' : 'external');
          expect(count).toBeLessThanOrEqual(65_535);
        } catch (error) {
          // Nothing changed meanwhile, so that it says what it ran into.
          expect(String(error)).toContain('memory access out of bounds');
        }
      }
    }
  });
});
