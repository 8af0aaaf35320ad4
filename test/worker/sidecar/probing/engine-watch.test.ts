import { describe, expect, it } from 'vitest';
import type { Fact } from '../../../../src/core/contract/evidence/facts.js';
import { EngineState } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import {
  type EngineLocation,
  type EngineView,
  EngineWatch,
  type EngineWatchOptions,
} from '../../../../src/worker/sidecar/probing/engine-watch.js';
import { FakeClock } from '../../../support/fake-clock.js';
import {
  bareModules,
  blockSize,
  countingRandom,
  declared,
  ScriptedProbe,
  servedModel,
  startMarker,
} from '../support/scripted-probe.js';

/** A watch over two sources, `models` and `metrics`, with everything it said. */
class Bench {
  readonly clock = new FakeClock();
  readonly models = new ScriptedProbe('models', { does: 'answer', facts: [servedModel()] });
  readonly metrics = new ScriptedProbe('metrics', { does: 'answer', facts: [blockSize(32)] });
  readonly views: EngineView[] = [];
  readonly watch: EngineWatch;
  location: EngineLocation = {
    type: 'at',
    targets: [{ httpBaseUrl: 'http://e:1' }],
    address: 'http://e:1',
  };
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: Partial<EngineWatchOptions> = {}) {
    this.watch = new EngineWatch(
      { workerId: 'w-1', declaredFacts: [], ...options },
      {
        clock: this.clock,
        random: countingRandom(),
        probeModules: bareModules(this.clock),
        loadProbes: async () => [this.models, this.metrics],
        locate: async () => this.location,
        onView: (view) => this.views.push(view),
      },
    );
  }

  /** Starts the loop; the first round runs immediately. */
  async start(): Promise<void> {
    this.#running = this.watch.run(this.#stop.signal);
    await this.clock.advanceMs(0);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    expect(this.clock.pendingTimers).toBe(0);
  }

  get last(): EngineView {
    const view = this.views.at(-1);
    if (view === undefined) throw new Error('no round yet');
    return view;
  }

  down(): void {
    this.models.behaviour = this.metrics.behaviour = { does: 'fail', code: 'unreachable' };
  }

  up(tokensPerBlock: number, ...more: Fact[]): void {
    this.models.behaviour = { does: 'answer', facts: [servedModel()] };
    this.metrics.behaviour = { does: 'answer', facts: [blockSize(tokensPerBlock), ...more] };
  }
}

function sizesIn(view: EngineView): number[] {
  return view.facts.flatMap((fact) => (fact.type === 'block_size' ? [fact.size.sizeTokens] : []));
}

function fieldsIn(view: EngineView): string[] {
  return view.facts.flatMap((fact) => (fact.type === 'field' ? [fact.field] : []));
}

describe('the pace of a watch', () => {
  it('is one second until the engine is ready, then ten', async () => {
    const bench = new Bench();
    bench.down();
    await bench.start();
    await bench.clock.advanceMs(3_000);
    expect(bench.views).toHaveLength(4);
    bench.up(32);
    await bench.clock.advanceMs(1_000);
    expect(bench.last.state).toBe(EngineState.READY);
    await bench.clock.advanceMs(9_999);
    expect(bench.views).toHaveLength(5);
    await bench.clock.advanceMs(1);
    expect(bench.views).toHaveLength(6);
    await bench.stop();
  });

  it('asks a ready engine seven times in its first minute and not more', async () => {
    const bench = new Bench();
    await bench.start();
    await bench.clock.advanceMs(60_000);
    expect(bench.metrics.timesAsked).toBe(7);
    await bench.stop();
  });

  it('quickens for an engine that is ready and does not tell its block size yet, but not for ever', async () => {
    const bench = new Bench();
    bench.metrics.behaviour = { does: 'fail', code: 'not_here' };
    await bench.start();
    await bench.clock.advanceMs(10_000);
    expect(bench.views).toHaveLength(11);
    await bench.clock.advanceMs(10_000);
    expect(bench.views).toHaveLength(12);
    await bench.stop();
  });

  it('never waits longer than the interval that was asked for', async () => {
    const bench = new Bench({ probeIntervalMs: 200 });
    await bench.start();
    await bench.clock.advanceMs(1_000);
    expect(bench.views).toHaveLength(6);
    await bench.stop();
  });
});

describe('an engine that goes and comes', () => {
  it('is reported down within about a second of the first refused round, with the address', async () => {
    const bench = new Bench();
    await bench.start();
    bench.down();
    await bench.clock.advanceMs(10_000);
    expect(bench.last.state).toBe(EngineState.READY);
    await bench.clock.advanceMs(1_000);
    expect(bench.last.state).toBe(EngineState.UNREACHABLE);
    expect(bench.last.problems[0]).toContain('http://e:1');
    await bench.stop();
  });

  it('keeps who is meant, but no value that could be used, while it is down', async () => {
    const bench = new Bench();
    await bench.start();
    bench.down();
    await bench.clock.advanceMs(11_000);
    expect(sizesIn(bench.last)).toEqual([]);
    expect(fieldsIn(bench.last)).toEqual(['model.served_names']);
    await bench.stop();
  });

  it('is another instance when it comes back with another block size', async () => {
    const bench = new Bench();
    await bench.start();
    const before = bench.last.instanceId;
    bench.down();
    await bench.clock.advanceMs(12_000);
    expect(bench.last.instanceId).toBe(before);
    bench.up(64);
    await bench.clock.advanceMs(1_000);
    expect(sizesIn(bench.last)).toEqual([64]);
    expect(bench.last.instanceId).not.toBe(before);
    expect(bench.last.restart).toBeDefined();
    await bench.clock.advanceMs(10_000);
    expect(bench.last.restart).toBeUndefined();
    await bench.stop();
  });

  it('is noticed when it restarts between two rounds', async () => {
    const bench = new Bench();
    bench.up(32, startMarker('t=1'));
    await bench.start();
    const before = bench.last.instanceId;
    bench.up(32, startMarker('t=2'));
    await bench.clock.advanceMs(10_000);
    expect(bench.last.instanceId).not.toBe(before);
    await bench.stop();
  });

  it('says nothing of the instance before when it restarted and one source is not up yet', async () => {
    const bench = new Bench();
    bench.models.behaviour = { does: 'answer', facts: [servedModel(), startMarker('t=1', 'GET models')] };
    await bench.start();
    bench.models.behaviour = { does: 'answer', facts: [servedModel(), startMarker('t=2', 'GET models')] };
    bench.metrics.behaviour = { does: 'fail', code: 'timeout' };
    await bench.clock.advanceMs(10_000);
    expect(sizesIn(bench.last)).toEqual([]);
    await bench.stop();
  });

  it('keeps the same instance for a sidecar that restarts', async () => {
    const [one, two] = [new Bench(), new Bench()];
    for (const bench of [one, two]) {
      bench.up(32, startMarker('t=1'));
      await bench.start();
      await bench.stop();
    }
    expect(one.last.instanceId).toBe(two.last.instanceId);
  });
});

describe('a source that is late when the engine comes up', () => {
  it('is waited for, for it may say what the engine is', async () => {
    const bench = new Bench();
    bench.metrics.behaviour = { does: 'fail', code: 'timeout' };
    await bench.start();
    expect(bench.last.state).toBe(EngineState.STARTING);
    expect(bench.last.problems[0]).toMatch(/http:\/\/e:1 has not answered all .*metrics/);
    bench.up(32);
    await bench.clock.advanceMs(1_000);
    expect(bench.last).toMatchObject({ state: EngineState.READY, problems: [] });
    expect(sizesIn(bench.last)).toEqual([32]);
    await bench.stop();
  });

  it('is waited for ten rounds, at each start of the engine', async () => {
    const bench = new Bench();
    for (const _start of [1, 2]) {
      bench.models.behaviour = { does: 'answer', facts: [servedModel()] };
      bench.metrics.behaviour = { does: 'fail', code: 'timeout' };
      if (bench.views.length === 0) await bench.start();
      else await bench.clock.advanceMs(1_000);
      await bench.clock.advanceMs(9_000);
      expect(bench.last.state).toBe(EngineState.STARTING);
      await bench.clock.advanceMs(1_000);
      expect(bench.last.state).toBe(EngineState.READY);
      bench.down();
      await bench.clock.advanceMs(12_000);
      expect(bench.last.state).toBe(EngineState.UNREACHABLE);
    }
    await bench.stop();
  });

  it('is not waited for where the engine has no such source', async () => {
    const bench = new Bench();
    bench.metrics.behaviour = { does: 'fail', code: 'not_here' };
    await bench.start();
    expect(bench.last.state).toBe(EngineState.READY);
    await bench.stop();
  });

  it('is not waited for where no connection to it can be made, as to a port that drops packets', async () => {
    const bench = new Bench();
    bench.metrics.behaviour = { does: 'fail', code: 'no_connection' };
    await bench.start();
    expect(bench.last.state).toBe(EngineState.READY);
    await bench.stop();
  });

  it('is waited for half a minute, however long each round takes', async () => {
    const bench = new Bench();
    bench.metrics.behaviour = { does: 'hang' };
    await bench.start();
    await bench.clock.advanceMs(5_000 + 24_000);
    expect(bench.last.state).toBe(EngineState.STARTING);
    await bench.clock.advanceMs(6_000 + 1_000);
    expect(bench.last.state).toBe(EngineState.READY);
    await bench.stop();
  });

  it('takes nothing away from an engine that is ready', async () => {
    const bench = new Bench();
    await bench.start();
    bench.metrics.behaviour = { does: 'fail', code: 'timeout' };
    await bench.clock.advanceMs(10_000);
    expect(bench.last.state).toBe(EngineState.READY);
    expect(sizesIn(bench.last)).toEqual([32]);
    await bench.stop();
  });
});

describe('a source that drops out while the engine lives', () => {
  it('keeps its last facts for three rounds, with a warning, and then loses them', async () => {
    const bench = new Bench();
    await bench.start();
    bench.metrics.behaviour = { does: 'hang' };
    for (let round = 1; round <= 3; round += 1) {
      await bench.clock.advanceMs(15_000);
      expect(sizesIn(bench.last)).toEqual([32]);
      expect(bench.last.state).toBe(EngineState.READY);
      expect(bench.last.warnings).toEqual([
        'metrics (GET http://e:1/metrics) did not answer lately; what was last known is kept for now',
      ]);
    }
    await bench.clock.advanceMs(15_000);
    expect(sizesIn(bench.last)).toEqual([]);
    expect(bench.last.warnings).toEqual([]);
    await bench.stop();
  });

  it('is reported in one sentence for all sources when none answered', async () => {
    const bench = new Bench();
    await bench.start();
    bench.down();
    await bench.clock.advanceMs(10_000);
    expect(bench.last.warnings).toEqual([
      'the engine did not answer lately; what was last known is kept for now',
    ]);
    await bench.stop();
  });

  it('is whole again at its next answer', async () => {
    const bench = new Bench();
    await bench.start();
    bench.metrics.behaviour = { does: 'fail', code: 'timeout' };
    await bench.clock.advanceMs(20_000);
    bench.up(32);
    await bench.clock.advanceMs(10_000);
    expect(bench.last.warnings).toEqual([]);
    await bench.stop();
  });

  it('is believed immediately when it says that it does not exist any more', async () => {
    const bench = new Bench();
    await bench.start();
    bench.metrics.behaviour = { does: 'fail', code: 'not_here' };
    await bench.clock.advanceMs(10_000);
    expect(sizesIn(bench.last)).toEqual([]);
    await bench.stop();
  });
});

describe('what is there besides the engine', () => {
  it('adds what was declared to every view, up or down', async () => {
    const bench = new Bench({ declaredFacts: [declared(blockSize(16))] });
    expect(sizesIn(bench.watch.firstView)).toEqual([16]);
    await bench.start();
    expect(sizesIn(bench.last)).toEqual([32, 16]);
    bench.down();
    await bench.clock.advanceMs(12_000);
    expect(sizesIn(bench.last)).toEqual([16]);
    await bench.stop();
  });

  it('says why while there is nowhere to look', async () => {
    const bench = new Bench();
    bench.location = { type: 'nowhere', reason: 'no engine on the usual ports' };
    await bench.start();
    expect(bench.last).toMatchObject({
      state: EngineState.UNREACHABLE,
      problems: ['no engine on the usual ports'],
    });
    await bench.stop();
  });

  it('is starting before anything was asked', () => {
    expect(new Bench().watch.firstView.state).toBe(EngineState.STARTING);
  });

  it('stops in the middle of a round without a last word', async () => {
    const bench = new Bench();
    bench.metrics.behaviour = { does: 'hang' };
    await bench.start();
    await bench.stop();
    expect(bench.views).toEqual([]);
  });
});

describe('a hint that the engine was restarted', () => {
  it('has it asked immediately, and again at the usual time', async () => {
    const bench = new Bench();
    await bench.start();
    await bench.clock.advanceMs(4_000);
    expect(bench.views).toHaveLength(1);
    bench.watch.lookNow();
    await bench.clock.advanceMs(1);
    expect(bench.views).toHaveLength(2);
    await bench.clock.advanceMs(9_998);
    expect(bench.views).toHaveLength(2);
    await bench.clock.advanceMs(2);
    expect(bench.views).toHaveLength(3);
    await bench.stop();
  });

  it('never has it asked more often than once a second', async () => {
    const bench = new Bench();
    await bench.start();
    for (let step = 0; step < 100; step += 1) {
      bench.watch.lookNow();
      await bench.clock.advanceMs(50);
    }
    expect(bench.views.length).toBeLessThanOrEqual(6);
    expect(bench.views.length).toBeGreaterThanOrEqual(5);
    await bench.stop();
  });

  it('is followed by a round of its own when one is running', async () => {
    const bench = new Bench();
    bench.metrics.behaviour = { does: 'answer late', afterMs: 500, facts: [blockSize(32)] };
    await bench.start();
    bench.watch.lookNow();
    await bench.clock.advanceMs(500);
    expect(bench.views).toHaveLength(1);
    await bench.clock.advanceMs(1_000);
    expect(bench.views).toHaveLength(2);
    await bench.stop();
  });

  it('means nothing to a watch that has ended', async () => {
    const bench = new Bench();
    await bench.start();
    await bench.stop();
    bench.watch.lookNow();
    await bench.clock.advanceMs(20_000);
    expect(bench.views).toHaveLength(1);
  });
});
