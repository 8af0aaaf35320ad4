import { describe, expect, it } from 'vitest';
import { cutToWidth, textWidth } from '../../../src/core/text/text-width.js';

describe('the width of a text on a terminal', () => {
  it.each([
    ['', 0],
    ['worker-7', 8],
    ['Zürich', 6],
    ['模型', 4],
    ['a模b', 4],
    ['ｱ', 1],
    ['Ａ', 2],
    ['한국', 4],
    ['🚀', 2],
    ['e\u0301', 1],
  ])('of %j is %i', (text, width) => {
    expect(textWidth(text)).toBe(width);
  });

  it('is never exceeded by what is cut to it, and no character is cut in two', () => {
    expect(cutToWidth('worker-7', 6)).toBe('worker');
    expect(cutToWidth('模型模型', 5)).toBe('模型');
    expect(cutToWidth('a🚀b', 2)).toBe('a');
    expect(cutToWidth('a🚀b', 3)).toBe('a🚀');
    expect(cutToWidth('short', 60)).toBe('short');
  });
});
