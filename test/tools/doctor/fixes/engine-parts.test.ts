import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

async function diagnosisOf(log: string) {
  return diagnose(joined({ logs: [await summaryOf(log)] }));
}

const BACKEND = [
  '  File "/repo/python/sglang/srt/layers/attention/trtllm_mla_backend.py", line 349, in init_mha_chunk_metadata',
  '    super().init_mha_chunk_metadata(forward_batch)',
  '  File "/repo/python/sglang/srt/layers/attention/flashinfer_mla_backend.py", line 500, in init_mha_chunk_metadata',
  '    self.mha_chunk_kv_cache.update_wrapper(forward_batch)',
  "AttributeError: 'TRTLLMMLABackend' object has no attribute 'mha_chunk_kv_cache'",
].join('\n');

const PROCESS = [
  'Traceback (most recent call last):',
  '  File "/opt/conda/lib/python3.11/multiprocessing/process.py", line 314, in _bootstrap',
  '    self.run()',
  '  File "/opt/conda/lib/python3.11/site-packages/vllm/v1/engine/core.py", line 950, in run_engine_core',
  '    raise e',
  "AttributeError: 'EagleProposer' object has no attribute 'positions'",
].join('\n');

describe('a part of an engine that fails', () => {
  it('is replaced by another of its kind', async () => {
    const { headline, advice } = await diagnosisOf(BACKEND);
    expect(headline).toContain('TRTLLMMLABackend');
    expect(advice).toContain('with another --attention-backend than that of trtllm_mla;');
  });

  it('is left out, by its class too, where a process ends by it', async () => {
    expect((await diagnosisOf(PROCESS)).advice).toContain('start it without --speculative-config');
  });

  it('is none where the engine goes on', async () => {
    const goesOn = Array.from({ length: 20 }, () => 'INFO 05-06 10:00:00 [launcher.py:30] ready').join('\n');
    expect((await diagnosisOf(`${BACKEND}\n${goesOn}`)).verdict).toBe('unknown');
  });
});
