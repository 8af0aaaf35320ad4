import { describe, expect, it } from 'vitest';
import { ApiKeys, readApiKeys } from '../../../src/frontend/gateway/api-keys.js';

const KEY = 'sk-0123456789abcdef';

describe('a file of API keys', () => {
  it('has one key a line, with comments and blank lines between', () => {
    expect(readApiKeys(`# of the team\r\n${KEY}\r\n\r\n  sk-fedcba9876543210  \n`)).toEqual([
      KEY,
      'sk-fedcba9876543210',
    ]);
  });

  it.each([
    ['', /has no key/],
    ['# nothing\n', /has no key/],
    ['short\n', /line 1 has 5 characters, at least 16/],
    [`${KEY}\n${'x'.repeat(2_000)}\n`, /line 2 has 2000 characters, at most 1024/],
    ['sk-0123 456789abcdef\n', /line 1 has characters that a bearer token cannot have/],
    [`${KEY}\n`.repeat(10_001), /has 10001 keys, at most 10000/],
  ])('is refused when it cannot be used, without a key in the message', (text, message) => {
    expect(() => readApiKeys(text)).toThrow(message);
    expect(() => readApiKeys(text)).not.toThrow(KEY);
  });
});

describe('API keys', () => {
  const keys = new ApiKeys([KEY, 'sk-fedcba9876543210'], 'secret');

  it('accept each of them, however the scheme is written', () => {
    expect(keys.findProblem(`Bearer ${KEY}`)).toBeUndefined();
    expect(keys.findProblem('bearer sk-fedcba9876543210')).toBeUndefined();
  });

  it('tell one that is missing from one that is wrong', () => {
    expect(keys.findProblem(undefined)).toBe('missing');
    expect(keys.findProblem('')).toBe('missing');
    expect(keys.findProblem('Basic dXNlcjpwYXNz')).toBe('missing');
    expect(keys.findProblem('Bearer ')).toBe('missing');
    expect(keys.findProblem(`Bearer ${KEY}x`)).toBe('wrong');
    expect(keys.findProblem(`Bearer ${KEY.slice(0, -1)}`)).toBe('wrong');
    expect(keys.findProblem(`Bearer ${'x'.repeat(10_000)}`)).toBe('wrong');
  });
});
