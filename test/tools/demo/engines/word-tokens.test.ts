import { describe, expect, it } from 'vitest';
import { tokensOfChat, tokensOfText } from '../../../../src/tools/demo/engines/word-tokens.js';

describe('the tokenizer of simulated engines', () => {
  it('has a token for each word, the same for the same word', () => {
    const [first, second, third, ...rest] = tokensOfText('  to be,\nto ');
    expect(rest).toEqual([]);
    expect(third).toBe(first);
    expect(second).not.toBe(first);
    expect(tokensOfText(' \n ')).toEqual([]);
  });

  it('gives ids that every engine and every router takes', () => {
    const ids = tokensOfText(
      Array.from({ length: 1_000 }, (_, index) => `word-${index} é${index}`).join(' '),
    );
    expect(ids).toHaveLength(2_000);
    expect(ids.every((id) => Number.isInteger(id) && id >= 0 && id < 131_071)).toBe(true);
    expect(new Set(ids).size).toBeGreaterThan(1_950);
  });

  it('lays a conversation out so that the next turn begins with the prompt and its answer', () => {
    const question = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Why?' },
    ];
    const asked = tokensOfChat(question);
    const answered = [...asked, ...tokensOfText('Because it is.')];
    const next = tokensOfChat([
      ...question,
      { role: 'assistant', content: 'Because it is.' },
      { role: 'user', content: 'Really?' },
    ]);
    expect(next.slice(0, answered.length)).toEqual(answered);
    expect(next.length).toBeGreaterThan(answered.length);
  });
});
