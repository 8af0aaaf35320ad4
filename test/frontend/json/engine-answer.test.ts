import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseEngineAnswer } from '../../../src/frontend/json/engine-answer.js';

const read = (text: string, field?: string): unknown => parseEngineAnswer(Buffer.from(text), field);

describe('the answer of an engine', () => {
  it('has its tokens as such, in the forms that engines write', () => {
    const tokens = Uint32Array.of(1, 0, 151_643, 4_294_967_295);
    expect(
      read('{"count":4,"max_model_len":2048,"tokens":[1,0,151643,4294967295],"token_strs":null}', 'tokens'),
    ).toEqual({ count: 4, max_model_len: 2048, tokens, token_strs: null });
    expect(read('[{"token_ids": [1, 0, 151643, 4294967295], "features": {"a": [1]}}]', 'token_ids')).toEqual([
      { token_ids: tokens, features: { a: [1] } },
    ]);
    const long = Array.from({ length: 100_000 }, (_, at) => at % 10);
    expect(read(JSON.stringify({ tokens: long }), 'tokens')).toEqual({ tokens: Uint32Array.from(long) });
  });

  it('is what the parser makes of it where its tokens stand elsewhere, or are none', () => {
    for (const text of [
      '{"tokens":[]}',
      '{"tokens":[1.5]}',
      '{"tokens":[1,null]}',
      '{"tokens":"[1,2]"}',
      '{"tokens":[1],"tokens":[2,3]}',
      '{"tokens":[1],"tokens":null}',
      '{"a":{"tokens":[1]}}',
      '{"a":[{"tokens":[1]}],"tokens":[2]}',
      '{"a":"\\"tokens\\":[1]","tokens":null}',
      '{"x\\"tokens":[1],"tokens":null}',
      '{"a":"{","tokens":[7]}',
      '{}',
      'null',
      '"tokens"',
    ])
      expect([text, plain(read(text, 'tokens'))]).toEqual([text, JSON.parse(text)]);
    for (const text of [
      '',
      '{"tokens":[1,2}',
      '{"tokens":[1,2]',
      '{"tokens"::[1]}',
      '{"tokens":[01]}',
      '[',
    ]) {
      expect([text, read(text, 'tokens')]).toEqual([text, undefined]);
    }
  });

  it('is the same as the parser makes it, whatever it is', () => {
    const field = fc.constantFrom('tokens', 'a', '"tokens"', 'x"tokens', '', '__proto__');
    const tokens = fc.array(fc.nat(2 ** 32 - 1));
    const object = fc.array(fc.tuple(field, fc.oneof(tokens, fc.jsonValue()))).map((members) => {
      const written = members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
      return `{${written.join()}}`;
    });
    fc.assert(
      fc.property(fc.oneof(object, fc.json()), (text) => {
        expect(plain(read(text, 'tokens'))).toEqual(parsed(text));
        expect(read(text)).toEqual(parsed(text));
      }),
    );
  });
});

/** With arrays in place of typed ones. */
function plain(value: unknown): unknown {
  if (value === undefined) return undefined;
  return JSON.parse(JSON.stringify(value, (_, one) => (one instanceof Uint32Array ? [...one] : one)));
}

/** What the parser makes of it; no engine answers with a list of several. */
function parsed(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return Array.isArray(value) && value.length !== 1 ? undefined : value;
}
