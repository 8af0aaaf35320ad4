import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { systemRandom } from '../../../src/edge/platform/random.js';
import {
  EngineEventReader,
  type EngineEventReaderOptions,
} from '../../../src/worker/kv-events/engine-event-reader.js';
import { FakeClock } from '../../support/fake-clock.js';
import { propertyRuns } from '../../support/property-runs.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { turns } from '../../support/turns.js';
import { batchOf, cleared, removed, stored } from './support/fake-publisher.js';
import { Replica, truthOf } from './support/replica.js';
import { ScriptedPublisher } from './support/scripted-sockets.js';

/** More find nothing new here, and a run moves two minutes of a clock. */
const RUNS = propertyRuns(30);

type Step =
  | { readonly type: 'store'; readonly chain: number; readonly lose: boolean }
  | { readonly type: 'remove'; readonly pick: number; readonly lose: boolean }
  | { readonly type: 'clear' | 'again'; readonly lose: boolean; readonly pick: number }
  | { readonly type: 'disconnect' | 'connect' | 'restart' | 'mute' | 'unmute' | 'settle' | 'reader' }
  | { readonly type: 'wait'; readonly ms: number }
  | { readonly type: 'read'; readonly most: number };

/** An engine with some blocks in chains of its own, that publishes what the steps say. */
class ModelEngine {
  readonly publisher = new ScriptedPublisher();
  #held: number[][] = [];
  #next = 1;

  take(step: Step): void {
    const { publisher } = this;
    switch (step.type) {
      case 'store': {
        const hash = this.#next * 10;
        this.#next += 1;
        const chain = this.#held[step.chain];
        if (chain === undefined) this.#held.push([hash]);
        publisher.publish(batchOf(stored(hash, chain?.at(-1) ?? null)), step);
        chain?.push(hash);
        break;
      }
      case 'remove': {
        // Engines free the last block of a chain first.
        const chain = this.#held[step.pick % Math.max(1, this.#held.length)];
        const hash = chain?.pop();
        if (hash !== undefined) publisher.publish(batchOf(removed(hash)), step);
        if (chain?.length === 0) this.#held = this.#held.filter((other) => other !== chain);
        break;
      }
      case 'clear':
        this.#held = [];
        publisher.publish(batchOf(cleared), step);
        break;
      case 'again':
        publisher.again(publisher.payloads.length - 1 - step.pick);
        break;
      case 'restart':
        this.#held = [];
        publisher.restart();
        break;
      case 'disconnect':
        publisher.disconnect();
        break;
      case 'connect':
        publisher.connect();
        break;
      case 'mute':
        publisher.answers = false;
        break;
      case 'unmute':
        publisher.answers = true;
    }
  }
}

const lose = fc.boolean();
const common: fc.Arbitrary<Step>[] = [
  fc.record({ type: fc.constant('store' as const), chain: fc.nat(3), lose: fc.constant(false) }),
  fc.record({ type: fc.constant('store' as const), chain: fc.nat(3), lose }),
  fc.record({ type: fc.constant('remove' as const), pick: fc.nat(5), lose }),
  fc.record({ type: fc.constantFrom('clear' as const, 'again' as const), pick: fc.nat(6), lose }),
  fc.record({ type: fc.constantFrom('disconnect' as const, 'connect' as const, 'connect' as const) }),
  fc.record({ type: fc.constantFrom('settle' as const, 'reader' as const) }),
  fc.record({ type: fc.constant('read' as const), most: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ type: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 40_000 }) }),
];
const withReplay = [
  ...common,
  fc.record({ type: fc.constantFrom('restart' as const, 'mute' as const, 'unmute' as const) }),
];

async function advance(clock: FakeClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 2_500) {
    await turns();
    await clock.advanceMs(Math.min(2_500, left));
  }
  await turns();
}

async function play(
  steps: readonly Step[],
  options: EngineEventReaderOptions,
  { bufferSteps, hasReplay }: { readonly bufferSteps: number; readonly hasReplay: boolean },
): Promise<{
  readonly eventReader: EngineEventReader;
  readonly truth: string[];
  readonly replicas: Replica[];
}> {
  const clock = new FakeClock();
  const engine = new ModelEngine();
  engine.publisher.bufferSteps = bufferSteps;
  const eventReader = new EngineEventReader(options, {
    clock,
    random: systemRandom,
    logger: new RecordingLogger(),
    onObserved: () => {},
    onPublisherRestart: () => {},
    sockets: engine.publisher,
  });
  eventReader.setInstance('i-1');
  const replay = hasReplay ? { replayEndpoint: 'tcp://127.0.0.1:1' } : {};
  eventReader.setSources([{ rank: 0, endpoint: 'tcp://127.0.0.1:2', topic: '', ...replay }]);
  await vi.waitFor(() => expect(eventReader.ranks[0]?.reason).toContain('no connection'));
  const replicas = [new Replica(eventReader)];
  try {
    for (const step of steps) {
      if (step.type === 'wait') await advance(clock, step.ms);
      else if (step.type === 'settle') await turns();
      else if (step.type === 'reader') {
        const replica = new Replica(eventReader);
        replica.isSlow = replicas.length % 2 === 1;
        replicas.push(replica);
      } else if (step.type === 'read') for (const replica of replicas) replica.read(step.most);
      else engine.take(step);
    }
    engine.take({ type: 'unmute' });
    engine.take({ type: 'connect' });
    await turns();
    engine.take({ type: 'store', chain: 9, lose: false });
    await advance(clock, 120_000);
    for (const replica of replicas) replica.read();
    return { eventReader, truth: truthOf(engine.publisher.payloads), replicas };
  } finally {
    await eventReader.close();
    expect(clock.pendingTimers).toBe(0);
  }
}

describe('a reader of events, whatever happens to its engine', () => {
  it('is exact in the end where the engine keeps every batch', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(...withReplay), { maxLength: 60 }), async (steps) => {
        const { truth, replicas } = await play(steps, {}, { bufferSteps: 10_000, hasReplay: true });
        for (const replica of replicas) {
          expect(replica.statuses.get(0)).toMatchObject({ picture: 'exact', reason: '' });
          expect(replica.blocks).toEqual(truth);
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('never reports a block that the engine does not hold, and says when it may lack some', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(...withReplay), { maxLength: 60 }),
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 300, max: 3_000 }),
        async (steps, bufferSteps, maxHistoryBytes) => {
          const { truth, replicas } = await play(
            steps,
            { maxHistoryBytes },
            { bufferSteps, hasReplay: true },
          );
          for (const replica of replicas) {
            if (replica.statuses.get(0)?.picture === 'exact') expect(replica.blocks).toEqual(truth);
            else expect(truth).toEqual(expect.arrayContaining(replica.blocks));
          }
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('holds to that without a replay endpoint, as long as the engine is the same', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(...common), { maxLength: 60 }), async (steps) => {
        const { truth, replicas } = await play(steps, {}, { bufferSteps: 10_000, hasReplay: false });
        for (const replica of replicas) {
          if (replica.statuses.get(0)?.picture === 'exact') expect(replica.blocks).toEqual(truth);
          else expect(truth).toEqual(expect.arrayContaining(replica.blocks));
        }
      }),
      { numRuns: RUNS },
    );
  });
});
