import { describe, expect, it } from 'vitest';
import type { Fact } from '../../../../src/core/contract/evidence/facts.js';
import type { ProbeErrorCode } from '../../../../src/engines/probing/probe.js';
import { EngineState } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import {
  type EngineHealth,
  judgeRound,
  NOT_YET_ASKED,
} from '../../../../src/worker/sidecar/probing/engine-health.js';
import type { SourceResult } from '../../../../src/worker/sidecar/probing/probe-round.js';
import { blockSize, declared, statedState } from '../support/scripted-probe.js';

const ADDRESS = 'http://e:1';

function answered(...facts: Fact[]): SourceResult {
  const outcome = { type: 'answered' as const, facts, warnings: [] };
  return { probe: 'p', origin: 'o', engineKind: undefined, durationMs: 1, outcome };
}

function failed(code: ProbeErrorCode, message = `GET x: ${code}`): SourceResult {
  const outcome = { type: 'failed' as const, code, message };
  return { probe: 'p', origin: 'o', engineKind: undefined, durationMs: 1, outcome };
}

function after(...rounds: readonly SourceResult[][]): EngineHealth {
  return rounds.reduce((health, round) => judgeRound(health, round, ADDRESS), NOT_YET_ASKED);
}

const good = [answered(blockSize(32))];
const refused = [failed('unreachable', 'GET x: connect ECONNREFUSED')];
const silent = [failed('timeout', 'GET x: no answer within 5000 ms')];

describe('how an engine stands', () => {
  it('is ready when a source of the running engine gave facts', () => {
    expect(after(good)).toMatchObject({ state: EngineState.READY, problems: [] });
  });

  it('is ready when only one of several sources answered', () => {
    expect(after([failed('timeout'), answered(blockSize(32))]).state).toBe(EngineState.READY);
  });

  it('is unreachable when no connection can be made, and a ready one after three such rounds', () => {
    const dropped = [failed('no_connection', 'GET x: no connection within 2000 ms')];
    expect(after(dropped).state).toBe(EngineState.UNREACHABLE);
    expect(after(good, dropped, dropped).state).toBe(EngineState.READY);
    expect(after(good, dropped, dropped, dropped).state).toBe(EngineState.UNREACHABLE);
  });

  it('is unreachable when nothing answers, and says where and why', () => {
    const health = after(refused);
    expect(health.state).toBe(EngineState.UNREACHABLE);
    expect(health.problems).toEqual(['cannot reach the engine at http://e:1: GET x: connect ECONNREFUSED']);
  });

  it('is ready when files alone were to be asked, and they gave facts', () => {
    expect(after([answered(declared(blockSize(32)))])).toMatchObject({
      state: EngineState.READY,
      problems: [],
    });
  });

  it('does not take declared values for a running engine', () => {
    expect(after([answered(declared(blockSize(32))), ...refused]).state).toBe(EngineState.UNREACHABLE);
  });

  it('is starting while it answers that it is not ready', () => {
    const health = after([failed('not_ready', 'GET x: status 503'), failed('timeout')]);
    expect(health.state).toBe(EngineState.STARTING);
    expect(health.problems[0]).toContain('not ready yet: GET x: status 503');
  });

  it('is starting while it says so itself, whatever else it reports', () => {
    const health = after([answered(blockSize(32), statedState(EngineState.STARTING))]);
    expect(health.state).toBe(EngineState.STARTING);
    expect(health.problems[0]).toContain('GET health');
  });

  it('is ready when it says so itself', () => {
    expect(after([answered(statedState(EngineState.READY))]).state).toBe(EngineState.READY);
  });

  it('says that something else answers there when no source knows it', () => {
    const health = after([failed('bad_answer', 'GET x: HTML')]);
    expect(health.problems).toEqual([
      'nothing at http://e:1 answers like an engine that kv-accord knows: GET x: HTML',
    ]);
  });

  it('stays ready through one refused and through two silent rounds', () => {
    expect(after(good, refused)).toMatchObject({ state: EngineState.READY, problems: [] });
    expect(after(good, silent, silent)).toMatchObject({ state: EngineState.READY, problems: [] });
  });

  it('is unreachable after two refused or three silent rounds', () => {
    expect(after(good, refused, refused).state).toBe(EngineState.UNREACHABLE);
    expect(after(good, silent, silent, silent).state).toBe(EngineState.UNREACHABLE);
    expect(after(good, refused, silent, silent).state).toBe(EngineState.UNREACHABLE);
  });

  it('restarts after a round that was answered', () => {
    expect(after(good, silent, silent, good, silent, silent).state).toBe(EngineState.READY);
    expect(after(good, refused, good, refused).state).toBe(EngineState.READY);
  });

  it('gets no grace before it was ever ready', () => {
    expect(after(silent).state).toBe(EngineState.UNREACHABLE);
  });

  it('is no longer ready as soon as it says so itself', () => {
    expect(after(good, [failed('not_ready')]).state).toBe(EngineState.STARTING);
  });
});
