import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../../src/tools/doctor/diagnose.js';
import { failingCacheIn } from '../../../../../src/tools/doctor/logs/general/failing-caches.js';
import { joined } from '../../support/evidence.js';
import { summaryOf } from '../summaries.js';

const BUCKET =
  '[2026-11-28 12:00:09,311] LMCache ERROR: HFBucketL2Adapter store task failed (hfbucket_l2_adapter.py:545:lmcache.v1.distributed.l2_adapters.hfbucket_l2_adapter)';
const FLEXKV =
  '[FLEXKV] ERROR 11-28 12:00:09.311 [transfer_engine.py:131] transfer op 12 of graph 7 failed; failing the graph and draining its in-flight ops';
const INFO =
  '[2026-11-28 12:00:09,311] LMCache INFO: Storing KV cache for 256 tokens (cache_engine.py:1:lmcache.v1.cache_engine)';

describe('an error of a cache behind an engine, in whatever words', () => {
  it('is of the part that its file is of', () => {
    expect(failingCacheIn(BUCKET)).toBe('LMCache fails in distributed/l2_adapters/hfbucket_l2_adapter');
    expect(failingCacheIn(FLEXKV)).toBe('FlexKV fails in transfer_engine');
  });

  it.each([
    'LMCache ERROR: Error closing backend X: timed out (storage_manager.py:1401:lmcache.v1.storage_backend.storage_manager)',
    'LMCache ERROR: Failed to re-register; will retry on next heartbeat (vllm_multi_process_adapter.py:1740:lmcache.integration.vllm.vllm_multi_process_adapter)',
    'LMCache ERROR: Failed to delete old lookup hash file a (lookup_hash.py:7:lmcache.v1.mp_observability.subscribers.logging.lookup_hash)',
    'LMCache ERROR: Num retrieved tokens: 0, num expected tokens: 15 (vllm_v1_adapter.py:755:lmcache.integration.vllm.vllm_v1_adapter)',
    'LMCache WARNING: Valkey GET failed (valkey_l2_adapter.py:585:lmcache.v1.distributed.l2_adapters.valkey_l2_adapter)',
    'ERROR 11-28 12:00:09 [core.py:1] a request failed',
  ])('is none where a part ends, tries again, keeps no blocks or only warns: %s', (text) => {
    expect(failingCacheIn(text)).toBeUndefined();
  });

  async function firstOf(lines: readonly string[]): Promise<readonly [string, string, string] | undefined> {
    const [first] = diagnose(joined({ logs: [await summaryOf(`${lines.join('\n')}\n`)] })).assessments;
    return first === undefined ? undefined : [first.cause, first.confidence, first.fixes[0]?.says ?? ''];
  }

  it('is likely where it comes three times, with what does without the part', async () => {
    expect(await firstOf([INFO, BUCKET, BUCKET, BUCKET])).toEqual([
      'offload_failed',
      'likely',
      'Repair what the first error of hfbucket_l2_adapter.py names, with the exception below it, on the engine and at its server; until then start lmcache server without the --l2-adapter of this file',
    ]);
    expect((await firstOf([FLEXKV, FLEXKV, FLEXKV]))?.[2]).toMatch(
      /until then start the engine without FlexKV/,
    );
  });

  it('is a sign alone in an excerpt, and one error in a long log is left to its request', async () => {
    expect((await firstOf([INFO, BUCKET]))?.slice(0, 2)).toEqual(['offload_failed', 'possible']);
    expect(await firstOf([BUCKET, ...Array.from({ length: 80 }, () => INFO)])).toBeUndefined();
  });
});

describe('a traceback through a part that keeps blocks', () => {
  it.each([
    ['flexkv/storage/storage_engine.py', 'FlexKV fails with an exception'],
    ['llmd_fs_backend/worker.py', "llm-d's storage of blocks fails with an exception"],
  ])('is of that part, whatever its last line says: %s', async (file, headline) => {
    const log = await summaryOf(`(EngineCore pid=2) Traceback (most recent call last):
(EngineCore pid=2)   File "/usr/lib/python3/dist-packages/${file}", line 7, in start
(EngineCore pid=2)     raise ValueError(
(EngineCore pid=2) ValueError: groups in another order
`);
    const [first] = diagnose(joined({ logs: [log] })).assessments;
    expect(first?.cause).toBe('connector_crashed');
    expect(first?.headline.toLowerCase()).toContain(headline.toLowerCase());
  });
});
