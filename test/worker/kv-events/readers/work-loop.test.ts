import { describe, expect, it } from 'vitest';
import { sleep } from '../../../../src/edge/platform/clock.js';
import { WorkLoop } from '../../../../src/worker/kv-events/readers/work-loop.js';
import { FakeClock } from '../../../support/fake-clock.js';

class Bench {
  readonly clock = new FakeClock();
  readonly done: string[] = [];
  readonly queue: string[] = [];
  readonly faults: unknown[] = [];
  readonly #closing = new AbortController();
  readonly loop = new WorkLoop({
    clock: this.clock,
    signal: this.#closing.signal,
    next: () => {
      const name = this.queue.shift();
      return name === undefined ? undefined : this.#work(name);
    },
    onFault: (error) => this.faults.push(error),
  });
  readonly #ended = this.loop.run();

  async #work(name: string): Promise<void> {
    if (name === 'bad') throw new Error('bad');
    this.done.push(name);
    if (name === 'long') {
      await sleep(this.clock, 10, this.#closing.signal);
      await this.loop.rest();
      this.done.push('rested');
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.loop.wakeUp();
    await this.#ended;
    expect(this.clock.pendingTimers).toBe(0);
  }
}

describe('a loop of work', () => {
  it('does what there is in order, and waits for more', async () => {
    const bench = new Bench();
    bench.queue.push('a', 'b');
    bench.loop.wakeUp();
    await bench.clock.advanceMs(0);
    expect(bench.done).toEqual(['a', 'b']);
    bench.queue.push('c');
    bench.loop.wakeUp();
    await bench.clock.advanceMs(0);
    expect(bench.done).toEqual(['a', 'b', 'c']);
    await bench.close();
  });

  it('goes on a second after a piece of work failed', async () => {
    const bench = new Bench();
    bench.queue.push('bad', 'a');
    bench.loop.wakeUp();
    await bench.clock.advanceMs(999);
    expect([bench.faults.length, bench.done]).toEqual([1, []]);
    await bench.clock.advanceMs(1);
    expect(bench.done).toEqual(['a']);
    await bench.close();
  });

  it('lets others work after 5 ms of its own', async () => {
    const bench = new Bench();
    bench.queue.push('long');
    bench.loop.wakeUp();
    await bench.clock.advanceMs(9);
    expect(bench.done).toEqual(['long']);
    await bench.clock.advanceMs(1);
    await bench.clock.advanceMs(0);
    expect(bench.done).toEqual(['long', 'rested']);
    await bench.close();
  });

  it('ends while it waits and while it pauses', async () => {
    await new Bench().close();
    const bench = new Bench();
    bench.queue.push('bad');
    bench.loop.wakeUp();
    await bench.clock.advanceMs(0);
    await bench.close();
  });
});
