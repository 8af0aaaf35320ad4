import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../../src/tools/doctor/diagnosis.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

const of = async (...lines: readonly string[]): Promise<Diagnosis> =>
  diagnose(joined({ logs: [await summaryOf(lines.join('\n'))] }));

describe('a traceback', () => {
  it('through the pages of SGLang says that the cache is full, also without its last line', async () => {
    const { headline, advice } = await of(
      '[TP0] Scheduler hit an exception: Traceback (most recent call last):',
      '  File ".../sglang/srt/managers/schedule_batch.py", line 1849, in prepare_for_extend',
      '    out_cache_loc, req_pool_indices_tensor, _ = alloc_for_extend(self)',
      '  File ".../sglang/srt/mem_cache/common.py", line 412, in alloc_paged_token_slots_extend',
      '    raise RuntimeError(error_m',
    );
    expect(headline).toContain('a batch needs more than the cache has');
    expect(advice).toContain('larger --mem-fraction-static');
  });

  it('through the making of a connector asks for the key that its configuration lacks', async () => {
    const at =
      '(EngineCore_DP0 pid=7)   File "/usr/local/lib/python3.12/dist-packages/vllm/distributed/kv_transfer/kv_connector/v1/p2p/p2p_nccl_engine.py"';
    const lacks = (place: string) =>
      of(
        '(EngineCore_DP0 pid=7) Traceback (most recent call last):',
        `${at}, line 95, in ${place}`,
        "(EngineCore_DP0 pid=7)     x = y['http_port']",
        "(EngineCore_DP0 pid=7) KeyError: 'http_port'",
      );
    expect((await lacks('__init__')).advice).toContain('Write "http_port" into kv_connector_extra_config');
    expect((await lacks('handle')).advice).toContain('one image of the engine in both roles');
  });

  it('is not needed where an argument that only engines have is refused, whatever the script is called', async () => {
    const refused = (flag: string) => of(`serve_x.py: error: unrecognized arguments: ${flag} a`);
    expect((await refused('--enable-auto-tool-choice')).verdict).toBe('findings');
    expect((await refused('--learning-rate')).verdict).toBe('unknown');
  });
});
