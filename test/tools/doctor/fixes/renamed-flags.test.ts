import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import { renamedFlag } from '../../../../src/tools/doctor/fixes/renamed-flags.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

async function adviceFor(line: string): Promise<string | undefined> {
  const { assessments } = diagnose(joined({ logs: [await summaryOf(`${line}\n`, {})] }));
  return assessments[0]?.fixes[0]?.says;
}

describe('a flag that a program does not know', () => {
  it('has its name of this release where the program is known to have renamed it', async () => {
    expect(await adviceFor('__main__.py: error: unrecognized arguments: --is-prefill-worker')).toMatch(
      /^Write --disaggregation-mode prefill in place of --is-prefill-worker/,
    );
    expect(
      await adviceFor(
        'python3 -m dynamo.vllm: error: unrecognized arguments: --migration-limit 3 --store-kv etcd',
      ),
    ).toMatch(
      /^Move --migration-limit from the worker to the frontend .* and write --discovery-backend in place/,
    );
  });

  it('is left out where nothing is known of it', async () => {
    expect(await adviceFor('vllm serve: error: unrecognized arguments: --kv-frobnicate')).toMatch(
      /^Start the program without --kv-frobnicate/,
    );
    expect(renamedFlag('--kv-frobnicate')).toBeUndefined();
  });
});
