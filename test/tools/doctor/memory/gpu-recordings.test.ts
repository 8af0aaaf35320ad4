import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type EvidencePart, joinEvidence } from '../../../../src/tools/doctor/evidence.js';
import { readModelShape } from '../../../../src/tools/doctor/gather/model.js';
import { computeMemory } from '../../../../src/tools/doctor/memory/compute-memory.js';
import { summaryOf } from '../logs/summaries.js';

const FOLDER = new URL('../../../fixtures/engines/vllm-0.26.0-h100/', import.meta.url);
const CONFIGS = JSON.parse(readFileSync(new URL('configs.json', FOLDER), 'utf8')) as Record<string, object>;
const SOURCE = { kind: 'log', name: 'engine.log', status: 'read', detail: '' } as const;

/** What is said of the cache itself: what follows from the rest has to come to the same. */
const SAID = new Set(['kv_cache_tokens', 'total_kv_blocks']);

describe('what the arithmetic says of a cache on an H100, and what vLLM says', () => {
  it.each([
    ['llama-8b-killed', 'Llama-3.1-8B', 476_848, 0.001],
    ['llama-8b-fp8', 'Llama-3.1-8B', 953_184, 0.001],
    ['deepseek-v2-lite', 'DeepSeek-V2-Lite', 1_473_312, 0.001],
    ['deepseek-v2-lite-flashmla', 'DeepSeek-V2-Lite', 1_473_280, 0.001],
    // Five groups of layers with a window of 1,024, and two steps of 8,192 tokens in flight.
    ['gemma-3-12b', 'gemma-3-12b', 226_682, 0.002],
    ['gpt-oss-20b', 'gpt-oss-20b', 3_062_292, 0.002],
    // States of every block, in blocks of 1,408 tokens that a sequence of 32,768 does not fill.
    ['nemotron-nano-12b', 'Nemotron-Nano-12B-v2', 354_531, 0.035],
  ])('%s', async (log, model, tokens, tolerance) => {
    const shape = readModelShape('config.json', JSON.stringify(CONFIGS[model]));
    if (typeof shape === 'string') throw new Error(shape);
    const summary = await summaryOf(readFileSync(new URL(`${log}.log.txt`, FOLDER)));
    const said = summary.settings
      .filter(({ name }) => name === 'kv_cache_tokens')
      .map(({ value }) => Number(value));
    expect(Math.max(...said)).toBe(tokens);
    const settings = summary.settings.filter(({ name }) => !SAID.has(name));
    const part: EvidencePart = { source: SOURCE, models: [shape], settings };
    const [only] = computeMemory(joinEvidence([part]));
    expect(Math.abs((only?.capacityTokens ?? 0) / tokens - 1)).toBeLessThan(tolerance);
  });
});
