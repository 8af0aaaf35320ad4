import { describe, expect, it } from 'vitest';
import { summaryOf } from '../../tools/doctor/logs/summaries.js';

async function refusalIn(line: string): Promise<string | undefined> {
  const { signals } = await summaryOf(`${line}\n`);
  return [...(signals.get('transfer_refused')?.values.keys() ?? [])][0];
}

describe('where a vLLM refuses the blocks of another one', () => {
  it.each([
    [
      'AssertionError: Local block size 16 is not divisible by remote block size 32 or vice versa.',
      'block size: 16 here, 32 there',
    ],
    [
      'AssertionError: Local tensor parallel size 2 is not divisible by remote tensor parallel size 3.',
      'tensor parallel size: 2 here, 3 there',
    ],
    ['ERROR req cmpl-1: KV group count mismatch: local=2, remote=1', 'KV cache groups: 2 here, 1 there'],
    ['block_len mismatch from 10.0.0.7: remote=32768, local=16384', 'block length: 16384 here, 32768 there'],
  ])('%j is said with both numbers', async (line, value) => {
    expect(await refusalIn(line)).toBe(value);
  });

  it('takes no rank and no hash for a number', async () => {
    expect(
      await refusalIn(
        'NIXL compatibility hash mismatch. Local: 5931ab, Remote: 80bc12, local_rank=0, remote_rank=1',
      ),
    ).toBe('compatibility hash');
  });
});
