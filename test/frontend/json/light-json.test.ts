import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonScan } from '../../../src/edge/platform/data/json-scan.js';
import { type LightJson, parseLightJson } from '../../../src/frontend/json/light-json.js';

function light(text: string, tokenField = 'prompt'): LightJson {
  const bytes = Buffer.from(text);
  const scan = new JsonScan();
  scan.add(bytes);
  return parseLightJson(bytes, scan, tokenField);
}

const many = (item: string, count: number): string => `[${`${item},`.repeat(count - 1)}${item}]`;
const HEAVY = many('[1,2]', 100_000);

describe('a body that the event loop can bear', () => {
  it('is all there when it is small', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(light(text)).toEqual({ value: JSON.parse(text), isCut: false });
      }),
    );
    expect(() => light('{"model":')).toThrow(SyntaxError);
  });

  it('lacks the heaviest field alone', () => {
    expect(light(`{"model":"m", "messages" : ${HEAVY} ,"n":[1,2]}`)).toEqual({
      value: { model: 'm', messages: null, n: [1, 2] },
      isCut: true,
    });
    const image = 'x'.repeat(9 * 1024 * 1024);
    expect(light(`{"messages":[{"image":"${image}"}],"model":"m"}`)).toEqual({
      value: { model: 'm', messages: null },
      isCut: true,
    });
  });

  it('has no model when what stands beside that field is no JSON', () => {
    expect(() => light(`{"model":"m","messages":${HEAVY},}`)).toThrow(SyntaxError);
    expect(() => light(`{"model":m,"messages":${HEAVY}}`)).toThrow(SyntaxError);
    expect(light(`{"model":"m" "messages":${HEAVY}}`).value).toEqual({ model: null });
    expect(light(`{"model":"m","messages":${HEAVY}`).value).toBeUndefined();
  });

  it('is nothing when there is no field to leave out', () => {
    expect(light(HEAVY)).toEqual({ value: undefined, isCut: true });
    const fields = Array.from({ length: 70_000 }, (_, i) => `"${i}":0`);
    expect(light(`{${fields.join()}}`)).toEqual({ value: undefined, isCut: true });
  });

  it('has a long list of token ids as such, in a list of its own or not', () => {
    const ids = Array.from({ length: 100_000 }, (_, i) => (i * 40_503) % 151_936);
    for (const prompt of [ids, [ids]]) {
      const read = light(JSON.stringify({ model: 'm', prompt, n: 1 }, undefined, 1));
      expect(read).toEqual({ value: { model: 'm', n: 1, prompt: Uint32Array.from(ids) }, isCut: false });
    }
  });

  it('takes the last of two fields with the name of the tokens, as a parser does', () => {
    const ids = many('7', 100_000);
    expect(light(`{"prompt":${ids},"prompt":"text"}`)).toEqual({ value: { prompt: 'text' }, isCut: true });
    const last = light(`{"prompt":"text","prom\\u0070t":${ids}}`);
    expect((last.value as { prompt: Uint32Array }).prompt).toHaveLength(100_000);
    expect(last.isCut).toBe(false);
  });

  it.each(['-1', '1.5', '4294967296', '01', '1e3', '"a"', 'null', '[1]', '1 2', ''])(
    'has no tokens of a list in which %j stands',
    (member) => {
      const text = `{"prompt":[${'7,'.repeat(100_000)}${member}]}`;
      expect(light(text)).toEqual({ value: { prompt: null }, isCut: true });
    },
  );
});
