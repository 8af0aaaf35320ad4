import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../src/tools/doctor/diagnosis.js';
import { type EvidencePart, joinEvidence } from '../../../src/tools/doctor/evidence.js';
import { metricsPart } from '../../../src/tools/doctor/gather/metrics.js';
import { summaryOf } from './logs/summaries.js';
import { joined } from './support/evidence.js';

const FOLDER = new URL('../../fixtures/engines/vllm-0.26.0-h100/', import.meta.url);
const recording = (name: string): Promise<Buffer> => readFile(new URL(name, FOLDER));

async function diagnosisOf(name: string): Promise<Diagnosis> {
  return diagnose(joined({ logs: [await summaryOf(await recording(`${name}.log.txt`))] }));
}

describe('logs of vLLM on an H100', () => {
  it.each([
    'deepseek-v2-lite',
    'deepseek-v2-lite-flashmla',
    'gemma-3-12b',
    'llama-8b-fp8',
    'nemotron-nano-12b',
  ])('of an engine that serves say nothing wrong: %s', async (name) => {
    const { verdict, assessments } = await diagnosisOf(name);
    expect({ verdict, causes: assessments.map(({ cause }) => cause) }).toEqual({
      verdict: 'unknown',
      causes: [],
    });
  });

  it.each([
    ['llama-8b-too-long', 'cache_memory_missing', '--max-model-len 74688'],
    ['llama-8b-no-room', 'cache_memory_missing', '--gpu-memory-utilization'],
    ['llama-70b-oom', 'cache_memory_missing', '--tensor-parallel-size'],
    ['two-engines-one-gpu', 'cache_memory_missing', 'Move other processes off the GPU'],
    ['two-gpus-of-one', 'program_ended', 'Give the pod 2 GPUs'],
    ['flashmla-block-16', 'settings_refused', 'without --block-size'],
    ['llama-8b-killed', 'program_ended', 'dmesg'],
    ['gpt-oss-20b', 'program_ended', 'TIKTOKEN_ENCODINGS_BASE'],
    ['qwen3-600-blocks', 'cache_churn', 'without --num-gpu-blocks-override (now 600 blocks)'],
  ])('of %s say %s and what to do', async (name, cause, cure) => {
    const [first] = (await diagnosisOf(name)).assessments;
    expect(first?.cause).toBe(cause);
    expect(JSON.stringify(first?.fixes)).toContain(cure);
  });

  it.each([
    ['deepseek-v2-lite', '28.8 GiB on each GPU'],
    ['gpt-oss-20b', '18.8 GiB on each GPU'],
  ])('of %s say what its weights take', async (name, weights) => {
    const { checks } = await diagnosisOf(name);
    expect(JSON.stringify(checks.find(({ asks }) => asks.includes('weights take')))).toContain(weights);
  });

  it('of an engine core that was killed from outside say that it is gone, and that no line says why', async () => {
    const { headline } = await diagnosisOf('llama-8b-killed');
    expect(headline).toContain('one of its processes is gone, and what was given does not say why');
    expect(headline).toContain('engine core exited unexpectedly');
  });

  it('of gpt-oss that serves all but chat does not say that it does not start at all', async () => {
    const { headline } = await diagnosisOf('gpt-oss-20b');
    expect(headline).toContain('does not start, or answers no chat');
  });
});

describe('counters of an engine that is named twice', () => {
  it('count once, by its address and by that of its metrics', async () => {
    const text = String(await recording('qwen3-600-blocks.metrics.txt'));
    const pages = ['http://127.0.0.1:8000', 'http://127.0.0.1:8000/metrics', 'http://127.0.0.1:8001/metrics'];
    const parts: readonly EvidencePart[] = pages.map((url) => metricsPart(url, text));
    expect(joinEvidence(parts).metrics.map(({ name }) => name)).toEqual([pages[0], pages[2]]);
  });
});
