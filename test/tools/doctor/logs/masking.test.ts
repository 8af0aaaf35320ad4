import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { excerptOf, masked } from '../../../../src/tools/doctor/logs/masking.js';

describe('what an origin keeps of a line', () => {
  it.each([
    ["'api_key': ['sk1', 'sk2'], 'port': 1", "'api_key': [masked], 'port': 1"],
    ["api_key='geheim', page_size=32", 'api_key=[masked], page_size=32'],
    ['Authorization: Bearer abc.def', 'Authorization: [masked]'],
    ['"authorization":"Bearer abc"', '"authorization":[masked]'],
    ['HF_TOKEN=abcdef', 'HF_TOKEN=[masked]'],
    ['token hf_abcdefghij here', 'token [masked] here'],
    ['https://me:word@host/x', 'https://[masked]@host/x'],
    ['admin_api_key=None', 'admin_api_key=None'],
    ['#new-token: 7, #cached-token: 5', '#new-token: 7, #cached-token: 5'],
    ['max_total_num_tokens=65536 tokens per block=32', 'max_total_num_tokens=65536 tokens per block=32'],
    ['request_id=83710cab input_tokens=4044', 'request_id=83710cab input_tokens=4044'],
  ])('has no secret of %s', (line, expected) => expect(masked(line)).toBe(expected));

  it('is the begin of a long line and what it is about', () => {
    const text = excerptOf(`2026 begin ${'x '.repeat(300)}block_size=32 ${'y '.repeat(300)}`, 'block_size=');
    expect(text.length).toBeLessThanOrEqual(300);
    expect(text).toMatch(/^2026 begin .*… .*block_size=32.*…$/);
  });

  it('ends where a prompt begins', () => {
    expect(
      excerptOf('ERROR x: Failed to find y, request: {"messages": [{"content": "hello"}]}', 'Failed'),
    ).toBe('ERROR x: Failed to find y, request: {"[masked]');
  });

  it('keeps no half of a secret, and no control characters', () => {
    const secret = `api_key='${'s'.repeat(500)}'`;
    const text = excerptOf(`${'x'.repeat(200)} ${secret} block_size=32\u0007`, 'block_size=');
    expect(text).not.toContain('sss');
    expect(text).toContain('block_size=32');
    expect(text).not.toContain('\u0007');
  });

  it('is never longer than is allowed', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 2_000 }), fc.string({ maxLength: 20 }), (line, about) => {
        expect(excerptOf(line, about).length).toBeLessThanOrEqual(300);
      }),
    );
  });
});

describe("a refusal of kv-accord's own servers", () => {
  it.each([
    'this server wants a token in the metadata "authorization"',
    'the metadata "authorization" is not the word Bearer, a space and a token',
    'the token is not one that this server accepts',
  ])('has nothing that could be a secret: %s', (text) => {
    const said = `refuses us as unauthenticated (UNAUTHENTICATED ${JSON.stringify(text)}): set --token-file`;
    expect(masked(said)).toBe(said);
  });
});
