import { describe, expect, it } from 'vitest';
import { readAnswerField, readTokenAnswer } from '../../../src/engines/descriptor/token-answer.js';

describe('the tokens in an answer', () => {
  it('are read from the named field, also of the only member of a list', () => {
    expect(readTokenAnswer({ tokens: [1, 2] }, 'tokens')).toEqual(Uint32Array.of(1, 2));
    expect(readTokenAnswer([{ token_ids: [7] }], 'token_ids')).toEqual(Uint32Array.of(7));
    expect(readTokenAnswer({ tokens: Uint32Array.of(3) }, 'tokens', 1)).toEqual(Uint32Array.of(3));
    expect(readTokenAnswer({ tokens: [] }, 'tokens')).toEqual(new Uint32Array());
  });

  it.each([
    ['no object', 'text'],
    ['null', null],
    ['several answers', [{ tokens: [1] }, { tokens: [2] }]],
    ['another field', { token_ids: [1] }],
    ['no list', { tokens: '1' }],
    ['a number that is no token', { tokens: [1, -1] }],
    ['a fraction', { tokens: [1.5] }],
    ['a token of more than 32 bits', { tokens: [2 ** 32] }],
    ['more tokens than are read', { tokens: [1, 2, 3] }],
    ['more packed tokens than are read', { tokens: Uint32Array.of(1, 2, 3) }],
  ])('are none in %s', (_what, answer) => {
    expect(readTokenAnswer(answer, 'tokens', 2)).toBeUndefined();
  });

  it('are never what an object inherits', () => {
    expect(readAnswerField({}, 'constructor')).toBeUndefined();
  });
});
