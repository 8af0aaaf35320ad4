import { describe, expect, it } from 'vitest';
import { ownAdviceIn, shortenedBeforeAdvice } from '../../../../src/tools/doctor/logs/own-advice.js';

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
    [
      "size '80GB' uses an ambiguous unit. Write 80GiB for the binary size, or a plain byte count; both are the same.",
      'Write 80GiB for the binary size, or a plain byte count',
    ],
    [
      'one config overwrites another. Give each server its own mooncake_store.run_dir; they join the same pool.',
      'Give each server its own mooncake_store.run_dir',
    ],
  ])('is read from %s', (line, advice) => {
    expect(ownAdviceIn(line)).toBe(advice);
  });

  it.each([
    ['Assertion failed in the scheduler'],
    ['cache client: set failed with code 7'],
    ['it failed. Please file an issue on GitHub with the whole log'],
    ['it is not supported. Please raise an issue so we can investigate.'],
    ['the used cache is full and the raised exception is lost'],
    ['getaddrinfo failed. Name or service not known'],
    ['pool: run directory /run/pool is already used by the server at node3'],
    ['Start time is missing in the record of 12'],
    ['the path is not there. Set run_dir as well if the launcher started this rank'],
  ])('is nothing in %s', (line) => {
    expect(ownAdviceIn(line)).toBeUndefined();
  });
});

describe('a long sentence', () => {
  const middle = 'as this pool has to be shared by all ranks of the node, '.repeat(6);

  it('keeps what it says to do, wherever that stands', () => {
    const sentence = `ValueError: this node cannot afford the pool, ${middle}and no more. Lower segment_size to at most 115.5 GiB, or run fewer ranks per node. Each rank has its own.`;
    const kept = shortenedBeforeAdvice(sentence, 200);
    expect(kept).toMatch(
      /^ValueError: this node cannot afford the pool, .{20,60} …; Lower segment_size to at most/,
    );
    expect(kept.length).toBeLessThanOrEqual(200);
    expect(ownAdviceIn(kept)).toBe('Lower segment_size to at most 115.5 GiB, or run fewer ranks per node');
  });

  it('loses the parts of an advice that do not fit', () => {
    const kept = shortenedBeforeAdvice(
      `No manifest, ${middle}. Start the master with 'trtllm-serve mooncake_master --pool_file /shared/pool.json', or name a reachable address in the settings of it.`,
      200,
    );
    expect(ownAdviceIn(kept)).toBe(
      "Start the master with 'trtllm-serve mooncake_master --pool_file /shared/pool.json'",
    );
  });

  it('is cut where it has none, or none that is lost', () => {
    expect(shortenedBeforeAdvice(middle, 200)).toBe(middle.slice(0, 200));
    const early = `no room. Lower max_num_seqs. ${middle}`;
    expect(shortenedBeforeAdvice(early, 200)).toBe(early.slice(0, 200));
    expect(shortenedBeforeAdvice('short', 200)).toBe('short');
  });
});
