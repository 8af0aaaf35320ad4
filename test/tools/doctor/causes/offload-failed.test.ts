import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

const GET = new URL(
  '../../../fixtures/doctor-public-logs/mooncake-get-closed-by-holder.txt',
  import.meta.url,
);

describe("a get from Mooncake's store", () => {
  it('that its holder closes is one finding, without words of GPUs and RDMA', async () => {
    const { assessments } = diagnose(joined({ logs: [await summaryOf(await readFile(GET, 'utf8'))] }));
    expect(assessments.map(({ cause }) => cause)).toEqual(['transfer_path_broken']);
    const cures = assessments.flatMap(({ fixes }) => fixes.flatMap(({ says, why }) => [says, why]));
    expect(cures.join(' ')).not.toMatch(/CUDA|RDMA|GID/);
  });
});

describe("LMCache's server that is healthy again", () => {
  const AGAIN =
    '[2026-08-21 06:52:31,465] LMCache WARNING: LMCache server is healthy again, triggering recovery callback (vllm_multi_process_adapter.py:458:lmcache)';
  const AWAY =
    '[2026-08-21 06:52:13,011] LMCache WARNING: LMCache server is unhealthy — entering degraded mode (vllm_multi_process_adapter.py:473:lmcache)';
  const REDIS = '  File "/usr/lib/python3/dist-packages/redis/connection.py", line 7, in connect';

  async function headlineOf(...lines: readonly string[]): Promise<string> {
    return diagnose(joined({ logs: [await summaryOf(`${lines.join('\n')}\n`)] })).headline;
  }

  it('misses heartbeats where it was away before, and is there for the first time where it was not', async () => {
    expect(await headlineOf(AWAY, AGAIN)).toMatch(/^LMCache's server misses heartbeats/);
    expect(await headlineOf(AGAIN)).toMatch(/^Nothing wrong was seen/);
  });

  it('hides no other store that is not reached', async () => {
    expect(await headlineOf(AGAIN, REDIS)).toMatch(/^Redis is not reached/);
    expect(await headlineOf(AWAY, AGAIN, REDIS)).toMatch(/Redis is not reached/);
  });
});
