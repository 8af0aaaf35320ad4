import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import { joined } from '../support/evidence.js';
import { summaryOf } from './summaries.js';

async function headlineOf(lines: readonly string[]): Promise<string> {
  return diagnose(joined({ logs: [await summaryOf(`${lines.join('\n')}\n`)] })).headline;
}

const FAULTS: readonly (readonly [string, readonly string[]])[] = [
  [
    'an assertion of vLLM',
    [
      "AssertionError: If 'block_size' is specified in",
      'kv_connector_extra_config, there must be at least one KV cache',
      'group, and all groups must have the same block size.',
    ],
  ],
  [
    'an error of Dynamo',
    [
      '2025-12-06T19:39:40.743162Z ERROR main.init_prefill: Failed to serve',
      'endpoints: Invalid TCP bind address: invalid socket address syntax',
    ],
  ],
];

describe('a sentence that was cut at the edge of a page', () => {
  it.each(FAULTS)('is read as the whole: %s', async (_name, lines) => {
    const whole = await headlineOf([lines.join(' ')]);
    expect(whole).not.toContain('No cause is known');
    expect(await headlineOf(lines)).toBe(whole);
    expect(await headlineOf(lines.map((line) => `[pod/some-0/main] ${line}`))).toBe(whole);
  });

  it('does not go on in the prompt of a user', async () => {
    const [head = '', ...rest] = FAULTS[0]?.[1] ?? [];
    const prompted = [`prompt: 'a text of a user: ${head}`, ...rest];
    expect(
      await headlineOf(['RuntimeError: the widget of this layer has no colour that is', ...prompted]),
    ).not.toContain('lock_size');
  });

  it('is none where another record follows', async () => {
    const [head = '', ...rest] = FAULTS[0]?.[1] ?? [];
    for (const before of ['2025-12-06T19:39:41.7Z  INFO main: ', 'some-0 main I1206 19:39:41.7 7 a.cc:7] '])
      expect(await headlineOf([head, ...rest.map((line) => `${before}${line}`)])).toContain(
        'No cause is known',
      );
  });
});
