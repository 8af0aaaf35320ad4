import { expect, it } from 'vitest';
import { CliProcess } from '../../../support/cli-process.js';

it.each([
  ['a', '"a" (on the command line): must be pairs such as chat=llama-3-70b'],
  ['a=', '"a=" (on the command line): must be pairs such as chat=llama-3-70b'],
  ['a=b,c=d,a=e', '"a=e" (on the command line): must be one pair for each name that is asked for'],
])('--model-rewrite %s ends the start', async (given, problem) => {
  const cli = new CliProcess(['epp', '--workers', '127.0.0.1:1', '--model-rewrite', given]);
  expect(await cli.ended).toBe(2);
  expect(cli.stderr.text).toContain(`kv-accord epp: --model-rewrite ${problem}`);
});
