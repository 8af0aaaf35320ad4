import { describe, expect, it } from 'vitest';
import { type Failure, FailureTally } from '../../../../src/tools/doctor/logs/failures.js';

type Line = readonly [
  lineNumber: number,
  what: 'end' | 'stop' | 'entry' | 'named' | 'error',
  sentence?: string,
];

function failureOf(...lines: readonly Line[]): Omit<Failure, 'who'> | undefined {
  const tally = new FailureTally();
  for (const [lineNumber, what, sentence = ''] of lines) {
    const originOf = () => ({ place: `some.log:${lineNumber}`, text: sentence });
    if (what === 'end') tally.addEnd(lineNumber, originOf);
    else if (what === 'stop') tally.addStop(lineNumber);
    else if (what === 'entry') tally.addEntry(lineNumber);
    else tally.addError(lineNumber, sentence, what === 'named', originOf);
  }
  return tally.finish(1_000);
}

const OUT_OF_MEMORY = 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB';
const NCCL = 'RuntimeError: NCCL error: unhandled system error';
const SECONDARY =
  'RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}';
const REQUEST = 'ValueError: please provide at least one prompt';

describe('the error that ended a program', () => {
  it('is the first of a known kind behind the line that says that it ended', () => {
    expect(failureOf([1, 'end'], [40, 'error', NCCL], [80, 'error', OUT_OF_MEMORY])?.sentence).toBe(NCCL);
  });

  it('is the one of a worker before its engine says that it ended', () => {
    const failure = failureOf(
      [30, 'error', OUT_OF_MEMORY],
      [31, 'end'],
      [60, 'error', SECONDARY],
      [61, 'end'],
    );
    expect(failure).toMatchObject({ ends: 2, sentence: OUT_OF_MEMORY });
    expect(failure?.origin.place).toBe('some.log:30');
  });

  it('is the one of a traceback that goes up to the start of the program', () => {
    expect(failureOf([1, 'entry'], [40, 'error', REQUEST])).toMatchObject({ ends: 1, sentence: REQUEST });
    expect(failureOf([1, 'error', OUT_OF_MEMORY], [9, 'entry'], [40, 'error', SECONDARY])).toMatchObject({
      ends: 0,
      sentence: OUT_OF_MEMORY,
    });
    // Ctrl+C goes up to it, too, and an exception that comes much later is of something else.
    expect(failureOf([1, 'entry'], [40, 'stop'], [41, 'error', REQUEST])).toBeUndefined();
    expect(failureOf([1, 'entry'], [400, 'error', REQUEST])).toBeUndefined();
  });

  it('is none that only passes on that something else failed', () => {
    const workers = "AttributeError: 'MultiprocExecutor' object has no attribute 'workers'";
    const failure = failureOf([1, 'end'], [9, 'error', SECONDARY], [20, 'error', workers]);
    expect(failure).toMatchObject({ ends: 1, sentence: undefined });
    expect(failure?.origin.place).toBe('some.log:1');
  });

  it('is none of a process that is gone, where another error says why', () => {
    const lost = 'Worker proc VllmWorker-1 died unexpectedly, shutting down executor.';
    const other = 'RuntimeError: start (0) + length (64) exceeds dimension size (32)';
    expect(failureOf([1, 'error', other], [9, 'error', lost], [9, 'end'])?.sentence).toBe(other);
    expect(failureOf([9, 'error', lost], [9, 'end'])?.sentence).toBe(lost);
    // Other ranks see that it is gone.
    expect(failureOf([9, 'error', lost], [9, 'end'], [12, 'error', NCCL])?.sentence).toBe(lost);
  });

  it.each([
    'RuntimeError: Frontend process failed during engine core initialization. See root cause above.',
    'Worker proc VllmWorker-1 died unexpectedly (exit code: 1), shutting down executor.',
    'RuntimeError: Rank 0 scheduler died during initialization (exit code: 1). If exit code is -9 (SIGKILL), a common cause is the OS OOM killer.',
    'ray.exceptions.RayActorError: The actor died because of an error raised in its creation task',
    'torch.distributed.elastic.multiprocessing.errors.ChildFailedError',
  ])('is not %s', (sentence) => {
    expect(failureOf([9, 'error', sentence], [9, 'end'])?.sentence).toBeUndefined();
  });

  it('is of no known kind where nothing else stands near', () => {
    const other = 'RuntimeError: start (0) + length (64) exceeds dimension size (32)';
    expect(failureOf([1, 'end'], [30, 'error', other])?.sentence).toBe(other);
    expect(failureOf([1, 'error', other], [30, 'end'])?.sentence).toBe(other);
  });

  it('is none of a request long before', () => {
    expect(failureOf([1, 'error', REQUEST], [100, 'end'])).toMatchObject({ ends: 1, sentence: undefined });
    expect(failureOf([1, 'error', NCCL], [400, 'end'])?.sentence).toBeUndefined();
  });

  it('is none of a program that somebody stopped', () => {
    expect(failureOf([1, 'stop'], [40, 'error', OUT_OF_MEMORY])).toBeUndefined();
    expect(failureOf([1, 'error', OUT_OF_MEMORY], [40, 'stop'])?.sentence).toBe(OUT_OF_MEMORY);
    expect(failureOf([1, 'stop'], [5, 'end'], [9, 'error', SECONDARY])).toBeUndefined();
    expect(failureOf([1, 'end'], [5, 'stop'], [9, 'error', NCCL])?.ends).toBe(1);
  });

  it('is left to the cause that names it', () => {
    const tooSmall = 'ValueError: … larger than the available KV cache memory';
    expect(failureOf([1, 'end'], [9, 'named', tooSmall], [30, 'error', NCCL])).toBeUndefined();
  });

  it('is said without an end where it is of a known kind', () => {
    expect(failureOf([1, 'error', REQUEST], [2, 'error', NCCL])).toMatchObject({ ends: 0, sentence: NCCL });
    expect(failureOf([1, 'error', REQUEST])).toBeUndefined();
    expect(failureOf()).toBeUndefined();
  });

  it('is the last of its log where no more lines follow than its message has', () => {
    expect(failureOf([988, 'error', NCCL])?.isLast).toBe(true);
    expect(failureOf([987, 'error', NCCL])?.isLast).toBe(false);
    expect(failureOf([988, 'error', NCCL], [989, 'error', REQUEST])?.isLast).toBe(false);
    expect(failureOf([988, 'error', 'libmpi.so.40: cannot open shared object file'])?.isLast).toBe(false);
  });

  it('is found behind any number of requests that failed', () => {
    const requests = Array.from({ length: 1_000 }, (_, at): Line => [at, 'error', REQUEST]);
    expect(failureOf(...requests, [1_000, 'error', NCCL], [1_001, 'end'])?.sentence).toBe(NCCL);
  });
});
