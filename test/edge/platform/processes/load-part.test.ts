import { describe, expect, it } from 'vitest';
import { hasDescriptorRoom, loadPart } from '../../../../src/edge/platform/processes/load-part.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { RecordingLogger } from '../../../support/recording-logger.js';

function make() {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const stop = new AbortController();
  const state = { hasRoom: false, loads: 0 };
  const load = async (): Promise<string> => {
    state.loads += 1;
    return 'part';
  };
  const loading = loadPart(load, { clock, logger, signal: stop.signal, hasRoom: () => state.hasRoom });
  return { clock, logger, stop, state, loading };
}

describe('a part of the program', () => {
  it('is not tried while no files can be opened, says so once, and is loaded when they can', async () => {
    const { clock, logger, state, loading } = make();
    await clock.advanceMs(30_000);
    expect(state.loads).toBe(0);
    expect(logger.messages('error')).toEqual([expect.stringContaining('waits until 16 more files')]);
    state.hasRoom = true;
    await clock.advanceMs(1_000);
    expect([await loading, state.loads, clock.pendingTimers]).toEqual(['part', 1, 0]);
  });

  it('is not waited for by a process that ends', async () => {
    const { clock, stop, state, loading } = make();
    await clock.advanceMs(100);
    stop.abort();
    expect([await loading, state.loads, clock.pendingTimers]).toEqual([undefined, 0, 0]);
  });

  it('finds room in a process like this one', () => {
    expect(hasDescriptorRoom()).toBe(true);
  });
});
