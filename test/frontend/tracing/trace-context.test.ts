import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTraceParent, writeTraceParent } from '../../../src/frontend/tracing/trace-context.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

describe('a traceparent', () => {
  it.each([
    [`00-${TRACE}-${SPAN}-01`, true],
    [`00-${TRACE}-${SPAN}-00`, false],
    [`00-${TRACE}-${SPAN}-02`, false],
    [`00-${TRACE}-${SPAN}-ff`, true],
    [` 00-${TRACE}-${SPAN}-01 `, true],
    // What a later version has more is not looked at.
    [`01-${TRACE}-${SPAN}-01-more`, true],
  ])('%s is read', (traceparent, isSampled) => {
    expect(readTraceParent({ traceparent })).toEqual({ traceId: TRACE, spanId: SPAN, isSampled });
  });

  it.each([
    undefined,
    '',
    'x',
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
    `01-${TRACE}-${SPAN}-01-${'x'.repeat(1_000)}`,
  ])('%j begins a trace of its own', (traceparent) => {
    expect(readTraceParent(traceparent === undefined ? {} : { traceparent })).toBeUndefined();
  });

  it('is read as it was written', () => {
    const hex = (digits: number): fc.Arbitrary<string> =>
      fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: digits, maxLength: digits });
    const parents = fc.record({ traceId: hex(32), spanId: hex(16), isSampled: fc.boolean() });
    fc.assert(
      fc.property(parents, (parent) => {
        fc.pre(/[1-9a-f]/.test(parent.traceId) && /[1-9a-f]/.test(parent.spanId));
        expect(readTraceParent({ traceparent: writeTraceParent(parent) })).toEqual(parent);
      }),
    );
  });
});
