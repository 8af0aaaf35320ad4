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
