import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../../src/tools/doctor/diagnosis.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

async function diagnosisOf(...lines: readonly string[]): Promise<Diagnosis> {
  return diagnose(joined({ logs: [await summaryOf(`${lines.join('\n')}\n`)] }));
}

const FAILED =
  'ERROR 11-02 10:00:01 [nixl_connector.py:101] NIXL transfer failure: transfer_setup_failed | Context: {}';
const TIMED_OUT =
  'ERROR 11-02 10:00:01 [conn.py:9] Request 7 timed out after 300.0s in KVPoll.WaitingForInput';
const ODD = 'ERROR 11-02 10:00:01 [nixl_connector.py:100] the frobnicator of region 7 is out of tune';
const INFO = 'INFO 11-02 10:00:01 [core.py:58] all is well';

describe('transfers that fail', () => {
  it('have the error right before them, which no rule knows, as their reason', async () => {
    const { headline, advice } = await diagnosisOf(INFO, ODD, FAILED);
    expect(headline).toContain(`the error right before says "${ODD}"`);
    expect(advice).toContain('out of tune" (some.log:2)');
  });

  it('have it also where its message stands in a line of its own', async () => {
    const { headline } = await diagnosisOf(
      'ERROR 11-02 10:00:01 [a.py:1]',
      'the frob is out of tune',
      FAILED,
    );
    expect(headline).toContain('the frob is out of tune"');
  });

  it('are followed by what that error asks for', async () => {
    const asks = 'ERROR 11-02 10:00:01 [a.py:1] Please set VLLM_FROB=1 on both engines.';
    expect((await diagnosisOf(asks, FAILED)).advice).toContain(
      'asks for: "Please set VLLM_FROB=1 on both engines"',
    );
  });

  it('have none that stands further away or is of another process', async () => {
    const far = await diagnosisOf(ODD, ...Array.from({ length: 8 }, () => INFO), FAILED);
    expect(far.headline).toContain('what failed is not in what was given');
    const other = await diagnosisOf(`[pod/a-0/main] ${ODD}`, `[pod/b-0/main] ${FAILED}`);
    expect(other.headline).toContain('what failed is not in what was given');
  });

  it('keep the step that their own line names', async () => {
    expect((await diagnosisOf(ODD, TIMED_OUT)).headline).not.toContain('right before');
  });
});
