import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../../src/tools/doctor/diagnosis.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

const vllm = async (usage: string, waiting: number, hitRate = '61.0'): Promise<Diagnosis> => {
  const lines = Array.from(
    { length: 4 },
    (_, at) =>
      `INFO 11-03 12:01:${at}2 [loggers.py:118] Engine 000: Avg prompt throughput: 121.0 tokens/s, Avg generation throughput: 810.2 tokens/s, Running: 43 reqs, Waiting: ${waiting} reqs, GPU KV cache usage: ${usage}%, Prefix cache hit rate: ${hitRate}%`,
  );
  return diagnose(joined({ logs: [await summaryOf(`${lines.join('\n')}\n`)] }));
};

describe('a KV cache that requests wait for', () => {
  it('is named where its prefixes are found, with what gives it room', async () => {
    const { verdict, headline, advice, unknowns } = await vllm('99.8', 131);
    expect([verdict, headline]).toEqual([
      'unknown',
      'Nothing wrong was seen with caches and routing: 131 requests waited for room in a KV cache that was 99.8 % full',
    ]);
    expect(advice).toContain('--gpu-memory-utilization 0.95');
    expect(unknowns.join(' ')).toContain('first tokens come late');
  });

  it('is a finding where little is found in it', async () => {
    expect((await vllm('99.8', 131, '1.0')).verdict).toBe('findings');
  });

  it('is not named where requests wait for a turn, or none waits', async () => {
    expect((await vllm('60.0', 131)).headline).not.toContain('waited');
    expect((await vllm('99.8', 0)).headline).not.toContain('waited');
  });
});
