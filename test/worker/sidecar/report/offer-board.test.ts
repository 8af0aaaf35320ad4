import { describe, expect, it } from 'vitest';
import { ReportOfferRequest_Offer as Offer } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { OfferBoard } from '../../../../src/worker/sidecar/report/offer-board.js';
import { FakeClock } from '../../../support/fake-clock.js';

const ignore = (): void => undefined;

function make() {
  const clock = new FakeClock();
  const board = new OfferBoard({ clock });
  board.setReport({ instanceId: 'i-1', isComplete: true });
  return {
    clock,
    board,
    say: (frontendId: string, offer: Offer, instanceId = 'i-1', reason = 'it has 64, the fleet 32') =>
      board.report({ frontendId, instanceId, offer, reason }),
  };
}

describe('whether a worker may take the place of another', () => {
  it('is no until its report is complete', () => {
    const { board } = make();
    board.setReport({ instanceId: 'i-1', isComplete: false });
    expect(board.check()).toMatchObject({ ok: false, text: expect.stringContaining('not complete') });
  });

  it('is yes when a frontend offers it, and no with the reason when one keeps it out', () => {
    const { board, say } = make();
    board.watch('a', ignore);
    board.watch('b', ignore);
    say('a', Offer.OFFERED);
    expect(board.check()).toEqual({ name: 'offered', ok: true, text: 'by 1 frontends' });
    say('b', Offer.KEPT_OUT);
    expect(board.check()).toEqual({
      name: 'offered',
      ok: false,
      text: '1 of 2 frontends keep this worker out: it has 64, the fleet 32',
    });
    say('b', Offer.OFFERED);
    expect(board.check().ok).toBe(true);
  });

  it('notifies every watch at the first question, and no watch that has gone', () => {
    const { board } = make();
    const asked: string[] = [];
    board.watch('a', () => asked.push('a'));
    board.watch('b', () => asked.push('b'));
    board.watch('gone', () => asked.push('gone'))();
    expect(board.isAsked).toBe(false);
    board.check();
    board.check();
    expect(asked).toEqual(['a', 'b']);
    board.watch('late', () => asked.push('late'));
    board.check();
    expect([asked.length, board.isAsked]).toEqual([2, true]);
  });

  it('counts the minute from the first question, which may come long after the report: nobody reported before', async () => {
    const { board, clock, say } = make();
    board.watch('a', () => say('a', Offer.KEPT_OUT));
    await clock.advanceMs(600_000);
    // The answer of the frontend comes a moment after the first question.
    const other = make();
    await other.clock.advanceMs(600_000);
    expect(other.board.check().ok).toBe(false);
    await other.clock.advanceMs(59_999);
    expect(other.board.check().ok).toBe(false);
    await other.clock.advanceMs(1);
    expect(other.board.check().ok).toBe(true);
    expect(board.check()).toMatchObject({ ok: false, text: expect.stringContaining('it has 64') });
  });

  it('waits a minute for a frontend to decide, and then is yes: nobody is offered where no gate is open', async () => {
    const { board, clock, say } = make();
    board.watch('a', ignore);
    say('a', Offer.UNDECIDED);
    expect(board.check().ok).toBe(false);
    await clock.advanceMs(59_999);
    expect(board.check().ok).toBe(false);
    await clock.advanceMs(1);
    expect(board.check().ok).toBe(true);
  });

  it('does not become yes because a frontend restarts: its decision stands for a minute', async () => {
    const { board, clock, say } = make();
    const leave = board.watch('a', ignore);
    await clock.advanceMs(90_000);
    say('a', Offer.KEPT_OUT);
    leave();
    board.watch('a-again', ignore);
    say('a-again', Offer.UNDECIDED);
    expect(board.check().ok).toBe(false);
    await clock.advanceMs(59_000);
    expect(board.check().ok).toBe(false);
    await clock.advanceMs(1_001);
    expect(board.check().ok).toBe(true);
  });

  it('speaks of the running engine alone, and begins again with the next one', () => {
    const { board, say } = make();
    board.watch('a', ignore);
    say('a', Offer.OFFERED);
    board.setReport({ instanceId: 'i-2', isComplete: true });
    expect(board.check().ok).toBe(false);
    say('a', Offer.OFFERED, 'i-2');
    expect(board.check().ok).toBe(true);
  });

  it('takes no word of who does not watch', () => {
    const { board, say } = make();
    expect(say('stranger', Offer.KEPT_OUT)).toBe(false);
    board.watch('a', ignore)();
    expect(say('a', Offer.KEPT_OUT)).toBe(false);
    expect(board.check().text).toContain('no frontend has decided yet');
  });
});
