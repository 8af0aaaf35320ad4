import { describe, expect, it } from 'vitest';
import { JsonScan } from '../../../src/edge/platform/data/json-scan.js';
import { findJsonExcess, type JsonExcess, MAX_JSON_DEPTH } from '../../../src/frontend/json/json-bounds.js';

function excessOf(text: string): JsonExcess | undefined {
  const scan = new JsonScan();
  scan.add(Buffer.from(text));
  return findJsonExcess(scan);
}

describe('the bounds of JSON', () => {
  it('let pass what is as deep as allowed, and no deeper', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    expect(excessOf(nested(MAX_JSON_DEPTH))).toBeUndefined();
    expect(excessOf(nested(MAX_JSON_DEPTH + 1))).toBe('too_deep');
    expect(excessOf(`{"a":`.repeat(10_000))).toBe('too_deep');
  });

  it('let pass a million token ids, and not a million lists', () => {
    expect(excessOf(`{"prompt":[${'7,'.repeat(1_000_000)}7]}`)).toBeUndefined();
    expect(excessOf(`[${'[],'.repeat(1_000_000)}[]]`)).toBe('too_many_values');
    expect(excessOf(`[{${'"a":1,'.repeat(2_000_000)}"a":1}]`)).toBe('too_many_values');
  });

  it('let pass no more fields of a request than there can be', () => {
    const fieldsOf = (count: number): string =>
      `{${Array.from({ length: count }, (_, i) => `"${i}":1`).join()}}`;
    expect(excessOf(fieldsOf(1_024))).toBeUndefined();
    expect(excessOf(fieldsOf(1_025))).toBe('too_many_values');
  });

  it('do not look into strings', () => {
    expect(excessOf(JSON.stringify({ a: '['.repeat(1_000) }))).toBeUndefined();
    expect(excessOf(JSON.stringify({ a: '"\\['.repeat(1_000) }))).toBeUndefined();
    expect(excessOf(`"${'['.repeat(1_000)}`)).toBeUndefined();
  });
});
