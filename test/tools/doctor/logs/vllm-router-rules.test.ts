import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../../src/tools/doctor/diagnosis.js';
import { joined } from '../support/evidence.js';
import { summaryOf } from './summaries.js';

/** Recorded of vllm-router 0.1.17. */
const router = (tokens: number): string =>
  `2026-11-28 00:43:33  INFO vllm_router_rs::kv_index::discovery: src/kv_index/discovery.rs:242: using configured static KV event sources worker_url="http://127.0.0.1:8151" model=tiny block_size=${tokens} ranks=1\n`;
const ENGINE =
  "(APIServer pid=7) INFO 11-28 00:39:33 [api_utils.py:286] non-default args: {'model': '/data/tiny', 'block_size': 32, 'enable_prefix_caching': True}\n";

async function diagnosisOf(tokens: number): Promise<Diagnosis> {
  return diagnose(joined({ logs: [await summaryOf(router(tokens)), await summaryOf(ENGINE)] }));
}

describe('the block size that vLLM’s router reads KV events with', () => {
  it('is compared with that of the engines, with the flag that sets it', async () => {
    const { headline, assessments } = await diagnosisOf(16);
    expect(headline).toBe('Block-size mismatch: router 16, worker 32');
    expect(assessments[0]?.fixes[0]?.says).toContain('--kv-event-block-size 32');
  });

  it('is no finding where the two are the same', async () => {
    const { verdict, assessments } = await diagnosisOf(32);
    expect(assessments).toEqual([]);
    expect(verdict).toBe('unknown');
  });
});
