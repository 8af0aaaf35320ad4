import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

function statistics(running: number, waiting: number, usage: number): string {
  return Array.from(
    { length: 8 },
    (_, at) =>
      `INFO 11-20 10:0${at}:00 [loggers.py:127] Engine 000: Avg prompt throughput: 900.0 tokens/s, Avg generation throughput: 80.0 tokens/s, Running: ${running} reqs, Waiting: ${waiting} reqs, GPU KV cache usage: ${usage}%, Prefix cache hit rate: 40.0%`,
  ).join('\n');
}

async function diagnosisOf(log: string) {
  return diagnose(joined({ logs: [await summaryOf(log)] }));
}

const SET =
  "INFO 11-20 09:59:00 [utils.py:233] non-default args: {'model': 'Qwen/Qwen3-8B', 'max_num_seqs': 8}\n";

describe('requests that wait for a turn', () => {
  it('are kept apart from those that wait for room', async () => {
    const { headline, advice } = await diagnosisOf(SET + statistics(8, 60, 12));
    expect(headline).toContain('60 requests wait for a turn, as the engine runs 8 at a time');
    expect(advice).toContain('--max-num-seqs 16 or more (now 8)');
  });

  it.each([
    ['where nothing waits', SET + statistics(8, 0, 12)],
    ['where fewer run than may', SET + statistics(5, 60, 12)],
    ['where it was not seen how many may run', statistics(9, 60, 12)],
    ['where the cache is filled', SET + statistics(8, 60, 88)],
  ])('are none %s', async (_, log) => {
    expect((await diagnosisOf(log)).headline).not.toContain('for a turn');
  });

  it('may run as many as the engine takes by default', async () => {
    expect((await diagnosisOf(statistics(256, 60, 12))).headline).toContain('runs 256 at a time');
  });
});
