import { describe, expect, it } from 'vitest';
import { EngineKind } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import {
  type LearnAttempt,
  type LearnFacts,
  learnAll,
  learnOnce,
} from '../../../../src/worker/sidecar/probing/learn-once.js';
import { FakeClock } from '../../../support/fake-clock.js';

const ENGINE = {
  instanceId: 'i-1',
  kind: EngineKind.VLLM,
  model: 'tiny',
  httpBaseUrl: 'http://e:8000',
  known: {},
};

const answer = (probe: string, isFinal: boolean): LearnAttempt => ({
  facts: [],
  probes: [{ probe, origin: 'here', answered: isFinal, factCount: 0, error: '' }],
  isFinal,
});

class Bench {
  readonly clock = new FakeClock();
  attempts = 0;
  next: LearnAttempt | undefined = answer('first', true);
  readonly #learn = learnOnce({
    clock: this.clock,
    attempt: async () => {
      this.attempts += 1;
      return this.next;
    },
  });

  async learn(engine = ENGINE): Promise<readonly string[]> {
    const { probes } = await this.#learn(engine, new AbortController().signal);
    return probes.map(({ probe }) => probe);
  }
}

describe('what is learned once for each engine start', () => {
  it('is asked for once where the answer is final', async () => {
    const bench = new Bench();
    expect(await bench.learn()).toEqual(['first']);
    bench.next = answer('second', true);
    await bench.clock.advanceMs(1_000_000);
    expect(await bench.learn()).toEqual(['first']);
    expect(bench.attempts).toBe(1);
  });

  it('is asked for again of another start, and nothing of the one before is kept', async () => {
    const bench = new Bench();
    await bench.learn();
    bench.next = undefined;
    expect(await bench.learn({ ...ENGINE, instanceId: 'i-2' })).toEqual([]);
    bench.next = answer('second', true);
    expect(await bench.learn({ ...ENGINE, instanceId: 'i-2' })).toEqual(['second']);
  });

  it('is tried five times, 30 s apart, where the engine does not answer', async () => {
    const bench = new Bench();
    bench.next = answer('silent', false);
    for (let second = 0; second < 300; second += 1) {
      expect(await bench.learn()).toEqual(['silent']);
      await bench.clock.advanceMs(1_000);
    }
    expect(bench.attempts).toBe(5);
    bench.next = answer('second', true);
    expect(await bench.learn({ ...ENGINE, instanceId: 'i-2' })).toEqual(['second']);
  });

  it('costs no attempt while nothing can be asked', async () => {
    const bench = new Bench();
    bench.next = undefined;
    for (let round = 0; round < 20; round += 1) expect(await bench.learn()).toEqual([]);
    bench.next = answer('first', true);
    expect(await bench.learn()).toEqual(['first']);
  });

  it('is one list, in the order of the parts that learn', async () => {
    const part =
      (name: string): LearnFacts =>
      async () =>
        answer(name, true);
    const learned = await learnAll([part('tokens'), part('apis')])(ENGINE, new AbortController().signal);
    expect(learned.probes.map(({ probe }) => probe)).toEqual(['tokens', 'apis']);
  });
});
