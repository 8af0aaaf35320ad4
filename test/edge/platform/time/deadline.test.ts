import { describe, expect, it, vi } from 'vitest';
import { watchDeadline, withDeadline } from '../../../../src/edge/platform/time/deadline.js';
import { onAbort, orAborted, untilAborted } from '../../../../src/edge/platform/time/on-abort.js';
import { FakeClock } from '../../../support/fake-clock.js';

describe('listening to an abort', () => {
  it('calls once, and immediately where the signal has aborted', () => {
    const controller = new AbortController();
    const run = vi.fn();
    onAbort(controller.signal, run);
    expect(run).not.toHaveBeenCalled();
    controller.abort();
    expect(run).toHaveBeenCalledOnce();
    onAbort(controller.signal, run);
    expect(run).toHaveBeenCalledTimes(2);
  });

  it('ends when it is left, and needs no signal', () => {
    const controller = new AbortController();
    const run = vi.fn();
    const leave = onAbort(controller.signal, run);
    leave();
    leave();
    onAbort(undefined, run)();
    controller.abort();
    expect(run).not.toHaveBeenCalled();
  });

  it('resolves with undefined what did not end before the abort', async () => {
    const controller = new AbortController();
    const both = Promise.all([
      untilAborted(controller.signal),
      orAborted(new Promise(() => undefined), controller.signal),
      orAborted(Promise.resolve(1), controller.signal),
    ]);
    await Promise.resolve();
    controller.abort();
    await expect(both).resolves.toEqual([undefined, undefined, 1]);
    await expect(orAborted(Promise.reject(new Error('no')), new AbortController().signal)).rejects.toThrow(
      'no',
    );
  });
});

describe('a deadline', () => {
  it('ends by its time or by the signal, whichever comes first, once', async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const late = vi.fn();
    const aborted = vi.fn();
    watchDeadline({ timeoutMs: 10, signal: controller.signal }, { clock }, late);
    watchDeadline({ timeoutMs: 20, signal: controller.signal }, { clock }, aborted);
    await clock.advanceMs(10);
    controller.abort();
    await clock.advanceMs(100);
    expect(late.mock.calls).toEqual([['timeout']]);
    expect(aborted.mock.calls).toEqual([['aborted']]);
  });

  it('sets no timer where the signal has aborted', () => {
    const clock = new FakeClock();
    const onEnd = vi.fn();
    watchDeadline({ timeoutMs: 10, signal: AbortSignal.abort() }, { clock }, onEnd);
    expect(onEnd).toHaveBeenCalledExactlyOnceWith('aborted');
    expect(clock.pendingTimers).toBe(0);
  });

  it('gives its work a signal, and leaves nothing when the work ends first', async () => {
    const clock = new FakeClock();
    const { signal } = new AbortController();
    const work = withDeadline({ timeoutMs: 10, signal }, { clock }, async (own) => own.aborted);
    await expect(work).resolves.toBe(false);
    expect(clock.pendingTimers).toBe(0);
  });

  it('aborts its work with the reason of what ended it', async () => {
    const clock = new FakeClock();
    const reasonOf = async (own: AbortSignal): Promise<unknown> => {
      await untilAborted(own);
      return own.reason;
    };
    const late = withDeadline({ timeoutMs: 10, late: () => 'late' }, { clock }, reasonOf);
    const stopped = withDeadline(
      { timeoutMs: 10, signal: AbortSignal.abort('stopped') },
      { clock },
      reasonOf,
    );
    await clock.advanceMs(10);
    await expect(late).resolves.toBe('late');
    await expect(stopped).resolves.toBe('stopped');
  });
});
