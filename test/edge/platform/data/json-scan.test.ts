import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonScan, MAX_SCANNED_FIELDS } from '../../../../src/edge/platform/data/json-scan.js';

/** A scan of a text that comes in pieces of these sizes, again and again. */
function scanned(text: string, sizes: readonly number[] = [1 << 30]): JsonScan {
  const scan = new JsonScan();
  const bytes = Buffer.from(text);
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] as number;
    scan.add(bytes.subarray(at, at + size));
    at += size;
  }
  return scan;
}

const piece = fc.constantFrom('\\', '"', '[', '{', ':', ',', 'x', 'é', '\n');
const text = fc
  .oneof(fc.array(piece, { maxLength: 200 }), fc.array(fc.constantFrom('\\', '"'), { maxLength: 300 }))
  .map((parts) => parts.join(''));
const { value: anyValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.integer(),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(text, tie('value'), { maxKeys: 3 }),
  ),
}));
const pieceSizes = fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 5 });

describe('a scan of JSON', () => {
  it('counts depth, lists, objects and members as they are, wherever the text is cut into pieces', () => {
    fc.assert(
      fc.property(anyValue, fc.nat(3), pieceSizes, (value, space, sizes) => {
        const { depth, containers, members } = scanned(JSON.stringify(value, undefined, space), sizes);
        expect({ depth, containers, members }).toEqual(countsOf(value));
      }),
    );
  });

  it('finds each field of the outermost object, and nothing else', () => {
    fc.assert(
      fc.property(fc.dictionary(text, anyValue), fc.nat(3), pieceSizes, (object, space, sizes) => {
        const json = JSON.stringify(object, undefined, space);
        const bytes = Buffer.from(json);
        const { fields } = scanned(json, sizes);
        const read = fields.map(({ keyStart, keyEnd, valueStart, valueEnd, values }) => {
          const value: unknown = JSON.parse(bytes.toString('utf8', valueStart, valueEnd));
          const inside = scanned(JSON.stringify(value));
          expect(values).toBe(inside.values);
          return [JSON.parse(bytes.toString('utf8', keyStart, keyEnd)), value];
        });
        expect(read).toEqual(Object.entries(object));
      }),
    );
  });

  it('takes any bytes, in any pieces, and counts the same', () => {
    fc.assert(
      fc.property(text, pieceSizes, (json, sizes) => {
        const whole = scanned(json);
        const inPieces = scanned(json, sizes);
        expect({ ...inPieces }).toEqual({ ...whole });
        expect(inPieces.fields).toEqual(whole.fields);
      }),
    );
  });

  it('says of an object that it has more fields than are kept', () => {
    const fieldsOf = (count: number): string =>
      `{${Array.from({ length: count }, (_, i) => `"${i}":0`).join()}}`;
    expect(scanned(fieldsOf(MAX_SCANNED_FIELDS)).hasTooManyFields).toBe(false);
    expect(scanned(fieldsOf(MAX_SCANNED_FIELDS + 1)).hasTooManyFields).toBe(true);
    expect(scanned(fieldsOf(5 * MAX_SCANNED_FIELDS)).fields).toHaveLength(MAX_SCANNED_FIELDS);
  });
});

function countsOf(value: unknown): { depth: number; containers: number; members: number } {
  if (typeof value !== 'object' || value === null) return { depth: 0, containers: 0, members: 0 };
  const inner = Object.values(value).map(countsOf);
  return {
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
    containers: inner.reduce((sum, { containers }) => sum + containers, 1),
    members: inner.reduce((sum, { members }) => sum + members, Array.isArray(value) ? 0 : inner.length),
  };
}
