import { beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_EJECTION_OPTIONS, Ejections } from '../../../src/core/health/ejections.js';
import { type FaultKind, faultMessage } from '../../../src/core/health/worker-fault.js';

const members = (...targets: readonly string[]) =>
  targets.map((target) => ({ target, instanceId: `${target}-1`, address: `http://${target}` }));

describe('ejections', () => {
  let ejections: Ejections;
  const fail = (target: string, nowMs: number, kind: FaultKind = 'unreachable') =>
    ejections.failed(target, `${target}-1`, { kind, detail: 'seen' }, nowMs);
  const failTimes = (target: string, times: number, nowMs: number) => {
    let last: ReturnType<typeof fail>;
    for (let at = 0; at < times; at += 1) last = fail(target, nowMs);
    return last;
  };

  beforeEach(() => {
    ejections = new Ejections(DEFAULT_EJECTION_OPTIONS, { draw: () => 0 });
    ejections.setMembers(members('a', 'b', 'c'), 0);
  });

  it('bar a worker after three failed requests, and say what was seen', () => {
    expect(failTimes('a', 2, 0)).toBeUndefined();
    expect(fail('a', 0)).toEqual({
      type: 'ejected',
      target: 'a',
      fault: { kind: 'unreachable', detail: 'seen' },
      failures: 3,
      forMs: 5_000,
      times: 1,
    });
    expect(ejections.barred(4_999)).toEqual(['a']);
  });

  it('bar a worker that fails half of its requests, and not one that fails one in ten', () => {
    const failing = (every: number): boolean => {
      for (let at = 0; at < 40; at += 1) {
        if (at % every === 0) fail('a', 0);
        else ejections.answered('a', 0);
      }
      return ejections.isEjected('a');
    };
    expect(failing(10)).toBe(false);
    expect(failing(2)).toBe(true);
  });

  it('bar a worker that says nothing at all after one request', () => {
    expect(fail('a', 0, 'silent')).toMatchObject({ type: 'ejected', failures: 1 });
  });

  it('give a worker whose time is over one request, and bring it back when that is answered', () => {
    failTimes('a', 3, 0);
    expect(ejections.barred(5_000)).toEqual([]);
    expect(ejections.chosen('a')).toBe(true);
    expect(ejections.barred(5_000)).toEqual(['a']);
    expect(ejections.answered('a', 5_100)).toEqual({ type: 'returned', target: 'a', why: 'answered' });
    expect(ejections.hasAny).toBe(false);
  });

  it('bar it for twice as long when its try fails, and for the shortest time again after a good while', () => {
    failTimes('a', 3, 0);
    ejections.chosen('a');
    expect(fail('a', 5_000)).toMatchObject({ forMs: 10_000, times: 2, failures: 1 });
    ejections.chosen('a');
    ejections.answered('a', 15_000);
    expect(failTimes('a', 3, 16_000)).toMatchObject({ forMs: 20_000, times: 3 });
    ejections.chosen('a');
    ejections.answered('a', 36_000);
    expect(failTimes('a', 3, 36_000 + 60_000)).toMatchObject({ forMs: 5_000, times: 1 });
  });

  it('bring a worker back when one of several tries is answered, although another one showed nothing', () => {
    failTimes('a', 3, 0);
    ejections.chosen('a');
    ejections.chosen('a');
    ejections.tried('a');
    expect(ejections.barred(5_000)).toEqual(['a']);
    expect(ejections.answered('a', 5_100)).toEqual({ type: 'returned', target: 'a', why: 'answered' });
  });

  it('take the next request as the try where the first showed nothing', () => {
    failTimes('a', 3, 0);
    ejections.chosen('a');
    ejections.tried('a');
    expect(ejections.barred(5_000)).toEqual([]);
  });

  it('name a worker whose try is long due', () => {
    failTimes('a', 3, 0);
    expect(ejections.overdue(14_999)).toBeUndefined();
    expect(ejections.overdue(15_000)).toBe('a');
  });

  it('never bar the last worker', () => {
    failTimes('a', 3, 0);
    failTimes('b', 3, 0);
    expect(failTimes('c', 30, 0)).toBeUndefined();
    expect(ejections.barred(0)).toEqual(['a', 'b']);
  });

  it('bring all back when the last worker leaves', () => {
    failTimes('a', 3, 0);
    expect(ejections.setMembers(members('a'), 1)).toEqual([{ type: 'returned', target: 'a', why: 'last' }]);
    expect(ejections.hasAny).toBe(false);
  });

  it('end when a worker leaves the list, and it begins with no failures when it is there again', () => {
    failTimes('a', 3, 0);
    expect(ejections.setMembers(members('b', 'c'), 1)).toEqual([
      { type: 'returned', target: 'a', why: 'left' },
    ]);
    expect(ejections.setMembers(members('a', 'b', 'c'), 2)).toEqual([]);
    expect(ejections.barred(2)).toEqual([]);
    expect(failTimes('a', 2, 2)).toBeUndefined();
  });

  it('try a worker immediately when its engine started again, or has another address', () => {
    failTimes('a', 3, 0);
    const [a, ...others] = members('a', 'b', 'c');
    ejections.setMembers([{ ...a, target: 'a', instanceId: 'a-1', address: 'http://other' }, ...others], 1);
    expect(ejections.barred(1)).toEqual([]);
    expect(ejections.chosen('a')).toBe(true);
  });

  it('take no failure of another start of the engine, nor one of a request from before the ejection', () => {
    const fault = { kind: 'closed' as const, detail: '' };
    for (let at = 0; at < 9; at += 1) expect(ejections.failed('a', 'a-0', fault, 0)).toBeUndefined();
    failTimes('a', 3, 0);
    expect(fail('a', 1)).toBeUndefined();
  });

  it('never happen with 0 failures allowed', () => {
    ejections = new Ejections({ ...DEFAULT_EJECTION_OPTIONS, afterFailures: 0 }, { draw: () => 0 });
    ejections.setMembers(members('a', 'b'), 0);
    expect(failTimes('a', 50, 0)).toBeUndefined();
  });
});

describe('the message of a fault', () => {
  it('says what was seen, on one line and bounded', () => {
    expect(faultMessage({ kind: 'server_error', detail: 'status 500' })).toBe(
      'it answered with an error of its own (status 500)',
    );
    expect(faultMessage({ kind: 'cut', detail: '' })).toBe('it ended an answer before its end');
    expect(faultMessage({ kind: 'cut', detail: `x\n${'y'.repeat(500)}` }).length).toBeLessThan(260);
  });
});
