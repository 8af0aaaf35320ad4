import { describe, expect, it } from 'vitest';
import {
  DEFAULT_JSON_BOUNDS,
  JsonBoundsError,
  parseJson,
} from '../../../../src/edge/platform/data/bounded-json.js';

const bounds = { maxBytes: 1_000, maxDepth: 4, maxValues: 50, maxMemoryBytes: 6_000 };

describe('reading JSON of an unknown sender', () => {
  it('gives what the text says, from text and from bytes', () => {
    const value = { a: [1, 'zwei', null, { b: true }], é: '"\\[' };
    expect(parseJson(JSON.stringify(value), bounds)).toEqual(value);
    expect(parseJson(Buffer.from(JSON.stringify(value)), bounds)).toEqual(value);
    expect(() => parseJson('{"a":', bounds)).toThrow(SyntaxError);
  });

  it('names the bound that a text is beyond', () => {
    const refused = (text: string): string => {
      try {
        parseJson(text, bounds);
      } catch (error) {
        expect(error).toBeInstanceOf(JsonBoundsError);
        return (error as Error).message;
      }
      return 'was read';
    };
    expect(refused(`"${'x'.repeat(1_000)}"`)).toBe('has more than 1000 bytes');
    expect(refused(`"${'é'.repeat(600)}"`)).toBe('has more than 1000 bytes');
    expect(refused('[[[[[]]]]]')).toBe('is nested deeper than 4 levels');
    expect(refused(`[${'0,'.repeat(60)}0]`)).toBe('has more than 50 JSON values');
    expect(refused(`[${'{},'.repeat(20)}"${'x'.repeat(900)}"]`)).toBe('was read');
    expect(refused(`[${'[[]],'.repeat(11)}"${'x'.repeat(900)}"${',0'.repeat(8)}]`)).toBe('was read');
    expect(parseJson('[[[[]]]]', bounds)).toEqual([[[[]]]]);
  });

  it.each([
    ['empty lists', `[${'[],'.repeat(2_700_000)}0]`],
    ['nesting', '['.repeat(4_000_000)],
    ['distinct keys', `{${Array.from({ length: 600_000 }, (_, i) => `"key-${i}":0`).join()}}`],
    ['empty lists below the greatest length', `[${'[],'.repeat(300_000)}0]`],
  ])('makes nothing of megabytes of %s', (_, text) => {
    expect(() => parseJson(text, { ...DEFAULT_JSON_BOUNDS })).toThrow(JsonBoundsError);
    expect(() => parseJson(text, { ...DEFAULT_JSON_BOUNDS, maxBytes: 64 * 1024 * 1024 })).toThrow(
      JsonBoundsError,
    );
  });
});
