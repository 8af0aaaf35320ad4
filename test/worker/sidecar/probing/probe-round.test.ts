import { describe, expect, it } from 'vitest';
import type { EngineProbe, ProbeModules } from '../../../../src/engines/probing/probe.js';
import { ControlService } from '../../../../src/gen/engines/vllm/control.js';
import { EngineKind } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import {
  PROBE_TIMEOUT_MS,
  type ProbeRound,
  runProbeRound,
  toProbeOutcomes,
} from '../../../../src/worker/sidecar/probing/probe-round.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { bareModules, blockSize, ScriptedProbe, servedModel } from '../support/scripted-probe.js';

const TARGET = { httpBaseUrl: 'http://e:1' };
const never = new AbortController().signal;

function run(
  probes: readonly EngineProbe[],
  clock = new FakeClock(),
  targets = [TARGET],
  signal = never,
): Promise<ProbeRound> {
  return runProbeRound({ probes, targets }, bareModules(clock), signal);
}

function summary(round: ProbeRound): string[] {
  return round.results.map(({ probe, outcome }) =>
    outcome.type === 'answered'
      ? `${probe}: ${outcome.facts.length} facts`
      : `${probe}: ${outcome.code}: ${outcome.message}`,
  );
}

describe('a probe round', () => {
  it('goes on with the other sources when one fails and one throws something else', async () => {
    const round = await run([
      new ScriptedProbe('bad', { does: 'fail', code: 'bad_answer', message: 'HTML' }),
      new ScriptedProbe('broken', { does: 'throw', error: new TypeError('x is undefined') }),
      new ScriptedProbe('good', { does: 'answer', facts: [blockSize(32), servedModel()] }),
    ]);
    expect(summary(round)).toEqual([
      'bad: bad_answer: GET http://e:1/bad: HTML',
      'broken: bad_answer: GET http://e:1/broken: could not be understood (x is undefined)',
      'good: 2 facts',
    ]);
  });

  it('gives up a source that hangs after its own time-out, and keeps what the others said', async () => {
    const clock = new FakeClock();
    const running = run(
      [
        new ScriptedProbe('hangs', { does: 'hang' }),
        new ScriptedProbe('late', { does: 'answer late', afterMs: 4_000, facts: [blockSize(32)] }),
      ],
      clock,
    );
    await clock.advanceMs(PROBE_TIMEOUT_MS);
    const round = await running;
    expect(summary(round)).toEqual([
      'hangs: timeout: GET http://e:1/hangs: no answer within 5000 ms',
      'late: 1 facts',
    ]);
    expect(round.results.map((result) => result.durationMs)).toEqual([5_000, 4_000]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('ends immediately when it is aborted', async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const running = run([new ScriptedProbe('hangs', { does: 'hang' })], clock, [TARGET], stop.signal);
    stop.abort();
    expect(summary(await running)).toEqual([expect.stringContaining('hangs: timeout')]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('keeps the order of targets and probes, whichever answers first', async () => {
    const clock = new FakeClock();
    const probes = [
      new ScriptedProbe('slow', { does: 'answer late', afterMs: 100, facts: [] }),
      new ScriptedProbe('fast', { does: 'answer', facts: [] }),
    ];
    const running = run(probes, clock, [{ httpBaseUrl: 'http://b:1' }, { httpBaseUrl: 'http://a:1' }]);
    await clock.advanceMs(100);
    expect((await running).results.map((result) => result.origin)).toEqual([
      'GET http://b:1/slow',
      'GET http://b:1/fast',
      'GET http://a:1/slow',
      'GET http://a:1/fast',
    ]);
  });

  it('asks the same source of two targets only once', async () => {
    const probe = new ScriptedProbe('metrics', { does: 'answer', facts: [] });
    await run([probe], new FakeClock(), [TARGET, { ...TARGET }]);
    expect(probe.timesAsked).toBe(1);
  });

  it('leaves out what has nothing to ask', async () => {
    const probe = new ScriptedProbe('metrics', { does: 'answer', facts: [] });
    const targets = [{ grpcAddress: 'e:2' }];
    const round = await runProbeRound({ probes: [probe], targets }, bareModules(new FakeClock()), never);
    expect(round.results).toEqual([]);
  });
});

/** A probe that gets some paths, one after the other. */
function getsPaths(name: string, paths: readonly string[]): EngineProbe {
  return {
    name,
    engineKind: undefined,
    origin: () => `GET ${name}`,
    async probe(_target, modules, signal) {
      for (const path of paths) await modules.httpGet(`http://e:1${path}`, { signal });
      return { facts: [] };
    },
  };
}

describe('the load of a round on the engine', () => {
  /** Modules whose engine holds every request until it is let go. */
  function heldEngine(clock: FakeClock): {
    modules: ProbeModules;
    asked: string[];
    letGo: (count: number) => Promise<void>;
  } {
    const asked: string[] = [];
    const held: (() => void)[] = [];
    const modules: ProbeModules = {
      ...bareModules(clock),
      httpGet: (url) =>
        new Promise((resolve) => {
          asked.push(url);
          held.push(() => resolve({ status: 200, contentType: '', body: '' }));
        }),
    };
    const letGo = async (count: number): Promise<void> => {
      for (const release of held.splice(0, count)) release();
      await clock.advanceMs(0);
    };
    return { modules, asked, letGo };
  }

  it('asks every port although others drop all packets', async () => {
    const clock = new FakeClock();
    const { modules, asked, letGo } = heldEngine(clock);
    const calls: string[] = [];
    const ports = Array.from({ length: 12 }, (_, n) => `e:${50_000 + n}`);
    const calling = (name: string): EngineProbe => ({
      name,
      engineKind: undefined,
      origin: ({ grpcAddress }) => (grpcAddress === undefined ? undefined : `${name} ${grpcAddress}`),
      async probe({ grpcAddress = '' }, { rpc }, signal) {
        await rpc.call(grpcAddress, ControlService.getServerInfo, {}, { signal });
        return { facts: [] };
      },
    });
    const silent: ProbeModules = {
      ...modules,
      rpc: {
        call: (address) => {
          calls.push(address);
          return new Promise(() => undefined);
        },
      },
    };
    const targets = [...ports.map((grpcAddress) => ({ grpcAddress })), TARGET];
    const http: EngineProbe = {
      ...getsPaths('http', ['/metrics']),
      origin: ({ httpBaseUrl }) => httpBaseUrl,
    };
    const running = runProbeRound({ probes: [calling('a'), calling('b'), http], targets }, silent, never);
    await clock.advanceMs(0);
    expect([calls.length, asked]).toEqual([24, ['http://e:1/metrics']]);
    await letGo(1);
    await clock.advanceMs(PROBE_TIMEOUT_MS);
    const { results } = await running;
    expect(results.find(({ probe }) => probe === 'http')?.outcome.type).toBe('answered');
  });

  it('has at most four requests under way at one port', async () => {
    const clock = new FakeClock();
    const { modules, asked, letGo } = heldEngine(clock);
    const probes = Array.from({ length: 10 }, (_, n) => getsPaths(`p${n}`, [`/${n}`]));
    const running = runProbeRound({ probes, targets: [TARGET] }, modules, never);
    await clock.advanceMs(0);
    expect(asked).toHaveLength(4);
    await letGo(1);
    expect(asked).toHaveLength(5);
    await letGo(4);
    expect(asked).toHaveLength(9);
    await letGo(4);
    await letGo(1);
    expect((await running).requestsSent).toBe(10);
  });

  it('asks an address that several probes want only once', async () => {
    const clock = new FakeClock();
    const { modules, asked, letGo } = heldEngine(clock);
    const probes = ['a', 'b', 'c'].map((name) => getsPaths(name, ['/v1/models', `/${name}`]));
    const running = runProbeRound({ probes, targets: [TARGET] }, modules, never);
    await clock.advanceMs(0);
    expect(asked).toEqual(['http://e:1/v1/models']);
    await letGo(1);
    await letGo(3);
    expect((await running).requestsSent).toBe(4);
  });

  it('gives up those that wait for their turn when their time is over', async () => {
    const clock = new FakeClock();
    const { modules, asked } = heldEngine(clock);
    const probes = Array.from({ length: 6 }, (_, n) => getsPaths(`p${n}`, [`/${n}`]));
    const running = runProbeRound({ probes, targets: [TARGET] }, modules, never);
    await clock.advanceMs(PROBE_TIMEOUT_MS);
    const round = await running;
    expect(
      round.results.every(({ outcome }) => outcome.type === 'failed' && outcome.code === 'timeout'),
    ).toBe(true);
    expect(asked).toHaveLength(4);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('the outcomes in the report', () => {
  it('leave out sources of other engines once something answered', async () => {
    const sglang = new ScriptedProbe('sglang', { does: 'fail', code: 'not_here' });
    const own = new ScriptedProbe('vllm-extra', { does: 'fail', code: 'not_here' });
    const good = new ScriptedProbe('vllm', { does: 'answer', facts: [blockSize(32)] });
    Object.assign(sglang, { engineKind: EngineKind.SGLANG });
    const all = toProbeOutcomes((await run([sglang, own, good])).results);
    expect(all.map((outcome) => outcome.probe)).toEqual(['vllm-extra', 'vllm']);
    expect(all[1]).toEqual({
      probe: 'vllm',
      origin: 'GET http://e:1/vllm',
      answered: true,
      factCount: 1,
      error: '',
    });
  });

  it('hold everything while nothing answered', async () => {
    const silent = new ScriptedProbe('sglang', { does: 'fail', code: 'not_here', message: 'no' });
    const [only] = toProbeOutcomes((await run([silent])).results);
    expect(only).toMatchObject({ answered: false, error: 'GET http://e:1/sglang: no' });
  });
});
