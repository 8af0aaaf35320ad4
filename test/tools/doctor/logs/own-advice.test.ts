import { describe, expect, it } from 'vitest';
import { ownAdviceIn } from '../../../../src/tools/doctor/logs/own-advice.js';

describe('what a line says to do', () => {
  it.each([
    [
      'no room. Try increasing `gpu_memory_utilization` when it starts.',
      'Try increasing `gpu_memory_utilization` when it starts',
    ],
    [
      'Mooncake not found, please install mooncake-transfer-engine',
      'please install mooncake-transfer-engine',
    ],
    [
      'the pool is full (Consider lowering --max-running-requests)',
      'Consider lowering --max-running-requests',
    ],
    [
      'sizes differ; you should use the same block size on both',
      'you should use the same block size on both',
    ],
    [
      'a bug in this combination. Please avoid it by passing --block-size 32 or --block-size 64.',
      'Please avoid it by passing --block-size 32 or --block-size 64',
    ],
    ['GPU too old. Explicitly set --dtype=half in the CLI', 'Explicitly set --dtype=half in the CLI'],
  ])('is read from %s', (line, advice) => {
    expect(ownAdviceIn(line)).toBe(advice);
  });

  it.each([
    ['Assertion failed in the scheduler'],
    ['cache client: set failed with code 7'],
    ['it failed. Please file an issue on GitHub with the whole log'],
    ['it is not supported. Please raise an issue so we can investigate.'],
    ['the used cache is full and the raised exception is lost'],
  ])('is nothing in %s', (line) => {
    expect(ownAdviceIn(line)).toBeUndefined();
  });
});
