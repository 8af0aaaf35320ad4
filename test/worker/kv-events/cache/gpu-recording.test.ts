import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { makeCache } from '../support/engine-payloads.js';

const FOLDER = new URL('../../../fixtures/engines/vllm-0.26.0-h100/', import.meta.url);

describe('the first KV events of vLLM 0.26 on an H100', () => {
  it.each([
    ['llama-8b-killed', 16],
    ['llama-8b-fp8', 16],
    ['deepseek-v2-lite', 16],
    ['deepseek-v2-lite-flashmla', 64],
    ['gemma-3-12b', 16],
    ['gpt-oss-20b', 16],
    ['qwen3-600-blocks', 16],
  ])('of %s come in blocks of %i tokens', (name, size) => {
    const { cache, held } = makeCache();
    const lines = readFileSync(new URL(`${name}.events.jsonl`, FOLDER), 'utf8')
      .trim()
      .split('\n');
    for (const line of lines) {
      const [topic, , payload] = JSON.parse(line) as [string, number, string];
      expect(topic).toBe('kv-events');
      cache.apply(Buffer.from(payload, 'hex'));
    }
    const widths = held().map((block) => / (\d+) -?\w+$/.exec(block)?.[1]);
    expect([...new Set(widths)]).toEqual([String(size)]);
  });
});
