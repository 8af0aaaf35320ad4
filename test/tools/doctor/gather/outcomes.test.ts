import { describe, expect, it } from 'vitest';
import { notRead } from '../../../../src/tools/doctor/gather/outcomes.js';

/** The error that `run` throws. */
function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe('a source that gave nothing', () => {
  it('is reported with the reason', () => {
    const missing = Object.assign(new Error('ENOENT: no such file'), { code: 'ENOENT' });
    expect(notRead('log', 'a.log', missing).source).toEqual({
      kind: 'log',
      name: 'a.log',
      status: 'not_read',
      detail: 'does not exist',
    });
  });

  it('is not blamed for a fault of the program', () => {
    const fault = thrownBy(() => (undefined as unknown as string).length);
    expect(notRead('log', 'a.log', fault).source.detail).toMatch(
      /^a fault of kv-accord itself, not of this source: Cannot read/,
    );
    const wrongUrl = thrownBy(() => new URL('no url'));
    expect(notRead('metrics', 'no url', wrongUrl).source.detail).toBe('Invalid URL');
  });
});
