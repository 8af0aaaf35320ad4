import { describe, expect, it } from 'vitest';
import { readThreadCount } from '../../../src/cli/settings/thread-count.js';

describe('--threads', () => {
  const cases: readonly (readonly [string, number | undefined])[] = [
    ['1', 1],
    ['16', 16],
    ['256', 256],
    ['auto', 8],
    ['257', undefined],
    ['0', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['1e1', undefined],
    ['01', undefined],
    ['all', undefined],
    ['', undefined],
  ];
  it.each(cases)('%j is %j', (text, count) => {
    expect(readThreadCount(text, () => 8)).toBe(count);
  });

  it('is never more for auto than can be given', () => {
    expect(readThreadCount('auto', () => 512)).toBe(256);
  });
});
