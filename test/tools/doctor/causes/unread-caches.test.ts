import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import { joinEvidence } from '../../../../src/tools/doctor/evidence.js';
import { manifestsPart } from '../../../../src/tools/doctor/gather/manifests.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

const UNREAD = 'LMCACHE_LOCAL_CPU=True LMCACHE_CHUNK_SIZE=256 vllm serve m\n';
const ELSEWHERE = `lmcache_server localhost 65432 &
LMCACHE_REMOTE_URL=lm://localhost:65431 vllm serve m --kv-transfer-config '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'
`;

describe('a cache behind an engine, by files alone', () => {
  it('is a sign where nothing switches it on, with the argument that does', () => {
    const [first] = diagnose(
      joinEvidence([manifestsPart('a.sh', [{ file: 'a.sh', text: UNREAD }])]),
    ).assessments;
    expect(first).toMatchObject({
      cause: 'offload_failed',
      confidence: 'possible',
      headline:
        'Settings of a cache that nothing reads: vllm has LMCACHE_LOCAL_CPU, LMCACHE_CHUNK_SIZE, and nothing in its command switches LMCache on',
    });
    expect(first?.fixes[0]?.says).toMatch(/^Start vLLM with --kv-transfer-config .*LMCacheConnectorV1/);
  });

  it('is likely where its store listens elsewhere, and that comes first', () => {
    const texts = [
      { file: 'a.sh', text: UNREAD },
      { file: 'b.sh', text: ELSEWHERE },
    ];
    const [first] = diagnose(joinEvidence([manifestsPart('files', texts)])).assessments;
    expect(first).toMatchObject({ cause: 'offload_failed', confidence: 'likely' });
    expect(first?.headline).toMatch(
      /^A shared store is looked for where it is not: vllm looks for LMCache's server at/,
    );
    expect(first?.fixes.map(({ says }) => says.slice(0, 16))).toEqual([
      'Write port 65432',
      'Start vLLM with ',
    ]);
  });

  it('is left to the lines of a log that has such a cache', async () => {
    const log = await summaryOf(
      '[2026-08-21 06:52:13,011] LMCache WARNING: LMCache server is unhealthy — entering degraded mode (vllm_multi_process_adapter.py:473:lmcache)\n',
    );
    const { findings = [] } = manifestsPart('a.sh', [{ file: 'a.sh', text: UNREAD }]);
    expect(diagnose(joined({ logs: [log], findings })).headline).not.toMatch(/nothing reads/);
  });
});
