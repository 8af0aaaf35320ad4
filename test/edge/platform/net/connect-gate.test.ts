import { describe, expect, it } from 'vitest';
import { ConnectGate, type Connecting } from '../../../../src/edge/platform/net/connect-gate.js';
import { FakeClock } from '../../../support/fake-clock.js';

function visitors(count: number): { sessions: Connecting[]; turns: number[] } {
  const turns: number[] = [];
  return {
    turns,
    sessions: Array.from({ length: count }, (_, index) => ({ connect: () => turns.push(index) })),
  };
}

describe('the connect gate', () => {
  it('lets a few in, and the next as soon as one leaves, in the order in which they came', () => {
    const gate = new ConnectGate({ maxConnecting: 2 }, { clock: new FakeClock() });
    const { sessions, turns } = visitors(4);
    for (const session of sessions) gate.enter(session);
    expect([turns, gate.waiting, gate.connecting]).toEqual([[0, 1], 2, 2]);
    gate.leave(sessions[1] as Connecting);
    expect(turns).toEqual([0, 1, 2]);
  });

  it('forgets who leaves the line', () => {
    const gate = new ConnectGate({ maxConnecting: 1 }, { clock: new FakeClock() });
    const { sessions, turns } = visitors(3);
    for (const session of sessions) gate.enter(session);
    gate.leave(sessions[1] as Connecting);
    gate.leave(sessions[0] as Connecting);
    expect(turns).toEqual([0, 2]);
  });

  it('gives the place of one that takes too long to the next', async () => {
    const clock = new FakeClock();
    const gate = new ConnectGate({ maxConnecting: 1 }, { clock });
    const { sessions, turns } = visitors(2);
    for (const session of sessions) gate.enter(session);
    await clock.advanceMs(499);
    expect(turns).toEqual([0]);
    await clock.advanceMs(1);
    expect(turns).toEqual([0, 1]);
    gate.leave(sessions[1] as Connecting);
    expect([clock.pendingTimers, gate.connecting]).toEqual([0, 0]);
  });

  it('gets through thousands that fail immediately, without recursion', () => {
    const gate = new ConnectGate({ maxConnecting: 1 }, { clock: new FakeClock() });
    let turns = 0;
    const sessions = Array.from({ length: 50_000 }, (): Connecting => {
      const session = {
        connect: () => {
          turns += 1;
          gate.leave(session);
        },
      };
      return session;
    });
    const first: Connecting = { connect: () => undefined };
    gate.enter(first);
    for (const session of sessions) gate.enter(session);
    gate.leave(first);
    expect([turns, gate.waiting, gate.connecting]).toEqual([50_000, 0, 0]);
  });
});
