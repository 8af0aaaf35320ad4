import { describe, expect, it } from 'vitest';
import { summaryOf } from './summaries.js';

const LOOKUP =
  '[2025-09-25 00:42:05,968] LMCache INFO: Reqid: cmpl-1, Total tokens 64, LMCache hit tokens: 32, need to load: 31 (vllm_v1_adapter.py:1048:x)';

async function cachedTokens(...lines: readonly string[]): Promise<number | undefined> {
  const summary = await summaryOf(lines.map((line) => `${line}\n`).join(''));
  return summary.engine?.cachedTokens;
}

function retrieved(text: string): string {
  return `(Worker_TP0 pid=9) [2025-09-25 00:42:06,089] LMCache INFO: Retrieved ${text} (cache_engine.py:499:lmcache.v1.cache_engine)`;
}

describe('tokens that LMCache found at a lookup', () => {
  it('count as reused where no line says what came', async () => {
    expect(await cachedTokens(LOOKUP)).toBe(32);
  });

  it('count by what came, whichever way a version says it and how many ranks do', async () => {
    expect(await cachedTokens(LOOKUP, retrieved('0 out of 32 out of total 32 tokens'))).toBe(0);
    const half = retrieved('16 out of 32 required tokens (from 64 total tokens). size: 0.1 gb');
    expect(await cachedTokens(LOOKUP, half, half)).toBe(16);
  });
});
