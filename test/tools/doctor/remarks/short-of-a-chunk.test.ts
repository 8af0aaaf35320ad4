import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../../src/tools/doctor/diagnosis.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

const lookup = (tokens: number, hits: number): string =>
  `(EngineCore_DP0 pid=3111) [2026-10-14 06:03:06,400] LMCache INFO: Reqid: cmpl-1, Total tokens ${tokens}, LMCache hit tokens: ${hits}, need to load: 0 (vllm_v1_adapter.py:1191:lmcache.integration.vllm.vllm_v1_adapter)`;
const diagnosed = async (...lines: readonly string[]): Promise<Diagnosis> =>
  diagnose(joined({ logs: [await summaryOf(`${lines.join('\n')}\n`)] }));

describe('prompts that LMCache finds nothing of', () => {
  it('are named where each is shorter than a chunk, with what makes chunks shorter', async () => {
    const { verdict, headline, advice, unknowns } = await diagnosed(lookup(26, 0), lookup(112, 0));
    expect(verdict).toBe('unknown');
    expect(headline).toContain(
      'the prompts that LMCache looked up have 112 tokens and fewer, less than a chunk of 256',
    );
    expect(advice).toContain('save_unfull_chunk: true');
    expect(unknowns.join(' ')).toContain('its chunk_size by default');
  });

  it('are not named where one has a whole chunk, or where something was found', async () => {
    expect((await diagnosed(lookup(26, 0), lookup(300, 0))).headline).not.toContain('chunk');
    expect((await diagnosed(lookup(26, 0), lookup(112, 64))).headline).not.toContain('chunk');
  });
});
