import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { collectForBodies, FLAGS } from '../../../../src/edge/platform/processes/garbage.js';

/** What V8 says of a flag that is set while it runs: nothing where it knows it. */
async function complaintOf(flag: string): Promise<string> {
  const code = `require('node:v8').setFlagsFromString(${JSON.stringify(flag)})`;
  const { stderr } = await promisify(execFile)(process.execPath, ['-e', code]);
  return stderr;
}

it('how garbage is collected is asked of V8 in words that it knows', async () => {
  expect(await complaintOf('--no-such-flag')).toContain('unrecognized flag');
  for (const flag of FLAGS) expect(await complaintOf(flag), flag).toBe('');
  collectForBodies();
});
