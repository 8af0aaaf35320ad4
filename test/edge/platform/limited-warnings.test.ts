import { describe, expect, it } from 'vitest';
import { LimitedWarnings } from '../../../src/edge/platform/limited-warnings.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordingLogger } from '../../support/recording-logger.js';

describe('a warning that comes with every request', () => {
  it('is logged once in its time, and then with how often it was left out', async () => {
    const clock = new FakeClock();
    const logger = new RecordingLogger();
    const warnings = new LimitedWarnings({ repeatMs: 1_000 }, { clock, logger });
    const warn = (key: string): void => warnings.warn(key, { worker: key }, `${key} fails`);
    for (const key of ['a', 'a', 'b', 'a']) warn(key);
    await clock.advanceMs(999);
    warn('a');
    await clock.advanceMs(1);
    warn('b');
    warn('a');
    expect(logger.lines.map(({ level, fields, message }) => [level, fields, message])).toEqual([
      ['warn', { worker: 'a' }, 'a fails'],
      ['warn', { worker: 'b' }, 'b fails'],
      ['warn', { worker: 'b' }, 'b fails'],
      ['warn', { worker: 'a', since_last_line: 3 }, 'a fails'],
    ]);
  });

  it('is logged again when a thousand others came between, so that nothing is kept of all', () => {
    const logger = new RecordingLogger();
    const warnings = new LimitedWarnings({ repeatMs: 1_000 }, { clock: new FakeClock(), logger });
    for (let at = 0; at <= 1_024; at += 1) warnings.warn(`worker-${at}`, {}, 'fails');
    warnings.warn('worker-1024', {}, 'fails');
    expect(logger.lines).toHaveLength(1_025);
    warnings.warn('worker-0', {}, 'fails');
    expect(logger.lines).toHaveLength(1_026);
  });
});
