import { describe, expect, it } from 'vitest';
import { sessionHashOf } from '../../../src/frontend/gateway/session-hash.js';

describe('the session of a request', () => {
  it('is that of the first header that names one', () => {
    const one = sessionHashOf('header', { 'x-session-id': 'conversation-1' }, {});
    expect(one).toBeTypeOf('number');
    expect(sessionHashOf('header', { 'session-id': 'x', 'x-session-id': 'conversation-1' }, {})).toBe(one);
    for (const header of [
      'x-session-affinity',
      'x-smg-routing-key',
      'x-claude-code-session-id',
      'session_id',
    ])
      expect(sessionHashOf('header', { [header]: 'conversation-1' }, {})).toBe(one);
    expect(sessionHashOf('header', { 'x-session-id': 'conversation-2' }, {})).not.toBe(one);
  });

  it('is that of the first field that names one', () => {
    const one = sessionHashOf('user', {}, { prompt_cache_key: 'k', user: 'someone' });
    expect(sessionHashOf('user', {}, { user: 'k' })).toBe(one);
    expect(sessionHashOf('user', {}, { safety_identifier: 'k' })).toBe(one);
    expect(sessionHashOf('user', {}, { metadata: { user_id: 'k' } })).toBe(one);
    expect(sessionHashOf('user', { 'x-session-id': 'k' }, {})).toBeUndefined();
  });

  it.each([
    ['off', { 'x-session-id': 'a' }, { user: 'a' }],
    ['header', {}, { user: 'a' }],
    ['header', { 'x-session-id': '' }, {}],
    ['user', {}, { user: 7, metadata: null }],
    ['user', {}, { metadata: { user_id: ['a'] } }],
    ['user', {}, undefined],
  ] as const)('is none: %s %j %j', (affinity, headers, body) => {
    expect(sessionHashOf(affinity, headers, body)).toBeUndefined();
  });

  it('does not grow with its name', () => {
    expect(sessionHashOf('user', {}, { user: 'x'.repeat(1_000_000) })).toBe(
      sessionHashOf('user', {}, { user: 'x'.repeat(1_024) }),
    );
  });
});
