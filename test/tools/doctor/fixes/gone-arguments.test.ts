import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import { noteOfArgument } from '../../../../src/tools/doctor/fixes/gone-arguments.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

describe('arguments that an engine does not have', () => {
  it.each([
    ['--enable-reasoning', 'vllm', '--reasoning-parser alone'],
    ['--max-num-seq', 'vllm', '--max-num-seqs was meant'],
    ['--mem-fraction-statics', 'sglang', '--mem-fraction-static was meant'],
    ['--enable-ep-moe', undefined, '--ep-size'],
  ])('knows of %s', (flag, engine, note) => {
    expect(noteOfArgument(flag, engine)).toContain(note);
  });

  it.each([
    ['--max-num-seqs', 'vllm'],
    ['--some-other-argument', 'vllm'],
    ['--tiered-moe', undefined],
  ])('says nothing of %s', (flag, engine) => {
    expect(noteOfArgument(flag, engine)).toBeUndefined();
  });

  it('names what takes their place', async () => {
    const log = 'api_server.py: error: unrecognized arguments: --enable-reasoning --num-scheduler-steps 8';
    const { headline, advice } = diagnose(joined({ logs: [await summaryOf(log)] }));
    expect(headline).toContain('--enable-reasoning --num-scheduler-steps');
    expect(advice).toBe(
      'Start the program without --enable-reasoning (gone in vLLM 0.10: --reasoning-parser alone switches it on) and --num-scheduler-steps (gone in vLLM 0.10 with engine V0: --async-scheduling takes its place) (kubectl edit).',
    );
  });

  it('are no matter of other programs', async () => {
    const log = 'train.py: error: unrecognized arguments: --enable-reasoning';
    expect(diagnose(joined({ logs: [await summaryOf(log)] })).verdict).toBe('unknown');
  });
});
