import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../src/tools/doctor/diagnosis.js';
import { summaryOf } from './logs/summaries.js';
import { joined } from './support/evidence.js';

const ofLines = async (...lines: readonly string[]): Promise<Diagnosis> =>
  diagnose(joined({ logs: [await summaryOf(`${lines.join('\n')}\n`)] }));
const repeated = (count: number, lineOf: (at: string) => string): readonly string[] =>
  Array.from({ length: count }, (_, at) => lineOf(String(at).padStart(2, '0')));

const vllm = (hitRate: string, running = 12) =>
  repeated(
    12,
    (at) =>
      `INFO 06-01 10:00:${at} [loggers.py:127] Engine 000: Avg prompt throughput: 812.3 tokens/s, Avg generation throughput: 240.1 tokens/s, Running: ${running} reqs, Waiting: 0 reqs, GPU KV cache usage: 30.1%, Prefix cache hit rate: ${hitRate}%`,
  );
const sglang = (newTokens: number) =>
  repeated(
    5,
    (at) =>
      `[2026-01-05 02:24:${at} TP0] Prefill batch, #new-seq: 1, #new-token: ${newTokens}, #cached-token: 0, token usage: 0.10, #running-req: 3, #queue-req: 0,`,
  );

describe('a report without a finding', () => {
  it('says what engines had in their caches, and that no router was seen', async () => {
    const { verdict, headline } = await ofLines(...vllm('63.0'));
    expect([verdict, headline]).toEqual([
      'unknown',
      'Nothing wrong was seen: engines had up to 63.0 % of prompt tokens in their caches, and no routing decision was seen',
    ]);
  });

  it.each([
    ['vLLM', vllm('0.0')],
    ['SGLang', sglang(5_632)],
  ])('says that caches of %s had nothing, and how to tell whether they could', async (_name, lines) => {
    const { verdict, headline, advice } = await ofLines(...lines);
    expect([verdict, headline]).toEqual([
      'unknown',
      'Nothing wrong was seen: engines found nearly nothing in their caches, as happens where prompts begin differently',
    ]);
    expect(advice).toContain('two equal prompts that are longer than a block');
  });

  it('says nothing of the caches of engines that have hardly been asked', async () => {
    const quiet = 'Nothing wrong was seen, and not enough was seen to call it healthy';
    expect((await ofLines(...vllm('0.0').slice(0, 2))).headline).toBe(quiet);
    expect((await ofLines(...sglang(120))).headline).toBe(quiet);
  });
});
