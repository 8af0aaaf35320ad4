import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findJsonExcess, MAX_JSON_DEPTH } from '../../src/frontend/json-bounds.js';

const bytes = (text: string): Buffer => Buffer.from(text);

describe('the bounds of JSON', () => {
  it('let pass what is as deep as allowed, and no deeper', () => {
    const nested = (depth: number): Buffer => bytes('['.repeat(depth) + ']'.repeat(depth));
    expect(findJsonExcess(nested(MAX_JSON_DEPTH))).toBeUndefined();
    expect(findJsonExcess(nested(MAX_JSON_DEPTH + 1))).toBe('too_deep');
    expect(findJsonExcess(bytes(`{"a":`.repeat(10_000)))).toBe('too_deep');
  });

  it('let pass a million token ids, and not a million lists', () => {
    expect(findJsonExcess(bytes(`{"prompt":[${'7,'.repeat(1_000_000)}7]}`))).toBeUndefined();
    expect(findJsonExcess(bytes(`[${'[],'.repeat(1_000_000)}[]]`))).toBe('too_many_values');
    expect(findJsonExcess(bytes(`{${'"a":1,'.repeat(2_000_000)}"a":1}`))).toBe('too_many_values');
  });

  it('do not look into strings', () => {
    expect(findJsonExcess(bytes(JSON.stringify({ a: '['.repeat(1_000) })))).toBeUndefined();
    expect(findJsonExcess(bytes(JSON.stringify({ a: '"\\['.repeat(1_000) })))).toBeUndefined();
    expect(findJsonExcess(bytes(`"${'['.repeat(1_000)}`))).toBeUndefined();
  });

  it('count the depth of any JSON as its values nest', () => {
    const piece = fc.constantFrom('\\', '"', '[', '{', 'x', 'é', '\n');
    const text = fc
      .oneof(fc.array(piece, { maxLength: 200 }), fc.array(fc.constantFrom('\\', '"')))
      .map((parts) => parts.join(''));
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        text,
        fc.integer(),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(text, tie('value'), { maxKeys: 3 }),
      ),
    }));
    fc.assert(
      fc.property(value, fc.nat(MAX_JSON_DEPTH + 20), (inner, extra) => {
        const json = `${'['.repeat(extra)}${JSON.stringify(inner)}${']'.repeat(extra)}`;
        const isTooDeep = extra + depthOf(inner) > MAX_JSON_DEPTH;
        expect(findJsonExcess(bytes(json))).toBe(isTooDeep ? 'too_deep' : undefined);
      }),
    );
  });
});

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}
