import { decode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Packable, packBatch } from '../../../../src/tools/demo/engines/msgpack.js';
import { type RecordedEvent, readRecording } from '../../../worker/kv-events/support/engine-payloads.js';

/** What an event may be made of, as `@msgpack/msgpack` gives it back. */
/** The peer takes every name but this one, which could make its objects what they are not. */
const key = fc.string().filter((text) => text !== '__proto__');

const packable = fc.letrec<{ value: Packable }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
    fc.string({ maxLength: 300 }),
    fc.array(tie('value'), { maxLength: 20 }),
    fc.dictionary(key, tie('value'), { maxKeys: 20, noNullPrototype: true }),
  ),
})).value;

describe('a batch of KV events', () => {
  it.each([
    'vllm-0.32.0.block-32',
    'vllm-0.32.0.block-128',
    'vllm-0.32.0.rust-frontend',
    'sglang-0.5.23.page-32',
    'dynamo-mocker-1.6.1.vllm-16-small',
  ] as const)('is packed byte for byte as in %s', (name) => {
    const batches = readRecording(name);
    expect(batches.length).toBeGreaterThan(0);
    for (const { publishedAtSeconds, events, rank, payload } of batches) {
      const packed = packBatch(publishedAtSeconds, events.map(toPackable), Number(rank));
      expect(packed.toString('hex')).toBe(Buffer.from(payload).toString('hex'));
    }
  });

  it('is read by others as what it was made of', () => {
    fc.assert(
      fc.property(fc.array(packable, { maxLength: 20 }), (events) => {
        expect(readAsBigInts(packBatch(1.5, events, 3))).toEqual([1.5, events, 3n]);
      }),
    );
  });

  it('refuses what does not fit', () => {
    expect(() => packBatch(1, [2n ** 64n], 0)).toThrow('does not fit into 64 bits');
    expect(() => packBatch(1, ['x'.repeat(65_536)], 0)).toThrow('65536 bytes or items are too many');
  });
});

function toPackable(event: RecordedEvent): Packable {
  return event as unknown as Packable;
}

/** Every integer as a bigint, however it travelled. */
function readAsBigInts(packed: Uint8Array): unknown {
  const [time, ...rest] = decode(packed, { useBigInt64: true }) as unknown[];
  return [time, ...rest.map(widen)];
}

function widen(value: unknown): unknown {
  if (typeof value === 'number') return BigInt(value);
  if (Array.isArray(value)) return value.map(widen);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, widen(item)]));
}
