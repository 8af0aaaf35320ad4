import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EVENT_RESULTS } from '../../../src/worker/kv-events/cache/event-counts.js';
import { propertyRuns } from '../../support/property-runs.js';
import {
  batchOf,
  ChangeReader,
  encode,
  makeCache,
  RECORDINGS,
  readRecording,
} from './support/engine-payloads.js';

const PAYLOADS = RECORDINGS.flatMap((name) => readRecording(name).map(({ payload }) => payload)).filter(
  (payload) => payload.length < 5_000,
);

/** Applies payloads one after the other and checks all that must hold whatever they are. */
function survive(payloads: readonly Uint8Array[]): void {
  const { cache, counts, held } = makeCache({ maxBlocks: 2_000 });
  const reader = new ChangeReader();
  for (const payload of payloads) {
    const before = counts.entries().reduce((sum, { total }) => sum + total, 0);
    const { changes, problem } = cache.apply(payload);
    reader.apply(changes);
    const after = counts.entries().reduce((sum, { total }) => sum + total, 0);
    if (problem !== undefined || changes.length > 0) expect(after).toBeGreaterThan(before);
    if (problem !== undefined) expect(counts.total('other', 'undecodable')).toBeGreaterThan(0);
  }
  // Two engine hashes of the same content are one line for a reader, and one removal ends it.
  const sent = new Set(held());
  for (const line of reader.held()) expect(sent).toContain(line);
}

const anyHash = fc.oneof(
  fc.integer({ min: 0, max: 12 }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
  fc.uint8Array({ maxLength: 40 }),
);
const anything = fc.oneof(
  fc.constant(null),
  fc.integer(),
  fc.double(),
  fc.string(),
  fc.uint8Array(),
  fc.array(fc.integer({ min: 0, max: 5 })),
  fc.dictionary(fc.string(), fc.integer()),
);
/** Mostly what belongs there, sometimes anything. */
function mostly<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 9, arbitrary }, { weight: 1, arbitrary: anything });
}
const word = (...words: readonly string[]): fc.Arbitrary<unknown> =>
  mostly(fc.constantFrom<string | null>(null, ...words));

const storeFields = {
  block_hashes: mostly(fc.array(anyHash, { maxLength: 6 })),
  parent_block_hash: mostly(fc.option(anyHash)),
  token_ids: mostly(fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 12 })),
  block_size: mostly(fc.constantFrom(1, 2, 2, 2, 3)),
  lora_id: mostly(fc.constantFrom(null, 0, 1)),
  medium: word('GPU', 'GPU', 'CPU', 'DISK', 'X'),
  lora_name: word('a', 'b'),
  extra_keys: mostly(
    fc.option(fc.array(fc.option(fc.array(mostly(fc.constantFrom('a', 's'))))), { nil: null, freq: 1 }),
  ),
  group_idx: mostly(fc.constantFrom(null, 0, 1)),
  kv_cache_spec_kind: word('full_attention', 'mamba'),
  kv_cache_spec_sliding_window: mostly(fc.constantFrom(null, 64)),
};
const someKeys = { requiredKeys: [] as [] };
const anyEvent = fc.oneof(
  fc
    .tuple(
      fc.record(storeFields, someKeys),
      fc.record({ cache_salt: word('s'), locality: word('LOCAL'), block_mm_infos: anything }, someKeys),
    )
    .map(([fields, more]) => ({ type: 'BlockStored', ...fields, ...more })),
  fc
    .tuple(fc.record(storeFields), fc.integer({ min: 0, max: 11 }))
    .map(([fields, length]) => ['BlockStored', ...Object.values(fields).slice(0, length)]),
  fc.record({
    type: fc.constant('BlockRemoved'),
    block_hashes: storeFields.block_hashes,
    medium: storeFields.medium,
  }),
  fc.tuple(storeFields.block_hashes, storeFields.medium).map((rest) => ['BlockRemoved', ...rest]),
  fc.constantFrom({ type: 'AllBlocksCleared' }, ['AllBlocksCleared'], ['Ignored'], 5),
);

describe('whatever the bytes, a cache view stands', () => {
  it('when they are random', () => {
    fc.assert(fc.property(fc.array(fc.uint8Array({ maxLength: 100 }), { maxLength: 5 }), survive), {
      numRuns: propertyRuns(100),
    });
  });

  it('when they are those of an engine with some bytes changed, left out or put in', () => {
    const change = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      drop: fc.integer({ min: 0, max: 3 }),
      put: fc.uint8Array({ maxLength: 3 }),
    });
    fc.assert(
      fc.property(
        fc.constantFrom(...PAYLOADS),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        (payload, changes) => {
          const mutated = changes.reduce((bytes, { at, drop, put }) => {
            const index = Math.floor(at * bytes.length);
            return Buffer.concat([bytes.subarray(0, index), put, bytes.subarray(index + drop)]);
          }, Buffer.from(payload));
          survive([payload, mutated, payload]);
        },
      ),
      { numRuns: propertyRuns(200) },
    );
  });

  it('when they are cut off anywhere', () => {
    const [payload = new Uint8Array()] = PAYLOADS;
    for (let length = 0; length < payload.length; length++) {
      const { cache, counts } = makeCache();
      expect(cache.apply(payload.subarray(0, length)).problem).toBeDefined();
      expect(counts.total('other', 'undecodable')).toBeGreaterThan(0);
    }
  });

  it('when the events are nearly right', () => {
    fc.assert(
      fc.property(fc.array(fc.array(anyEvent, { maxLength: 5 }), { maxLength: 8 }), (batches) =>
        survive(batches.map((events) => batchOf(...events))),
      ),
      { numRuns: propertyRuns(200) },
    );
  });

  it('when the parsed JSON is anything', () => {
    const known = new Set<string>(EVENT_RESULTS);
    const block = fc.record({
      block_hash: mostly(fc.integer({ min: 0, max: 5 })),
      tokens: mostly(fc.array(mostly(fc.record({ token_id: mostly(fc.nat(3)) })), { maxLength: 3 })),
      cache_level: mostly(fc.constantFrom(0, 1)),
    });
    const data = fc.oneof(
      fc.record({
        type: fc.constant('stored'),
        parent_hash: mostly(fc.constant(null)),
        blocks: mostly(fc.array(block)),
      }),
      fc.record({ type: fc.constant('removed'), block_hashes: mostly(fc.array(mostly(fc.nat(5)))) }),
      fc.record({
        type: fc.constant('updated'),
        block_hash: mostly(fc.nat(5)),
        cache_level: mostly(fc.record({ old_value: fc.nat(2), new_value: fc.nat(2) })),
      }),
    );
    const event = mostly(fc.record({ data: mostly(data), window_size: mostly(fc.constant(64)) }));
    fc.assert(
      fc.property(fc.oneof(anything, fc.array(event)), (events) => {
        const { cache, counts } = makeCache({ maxBlocks: 50 });
        cache.applyTrtllm(events);
        expect(counts.entries().every(({ result }) => known.has(result))).toBe(true);
      }),
      { numRuns: propertyRuns(200) },
    );
  });
});

describe('memory', () => {
  /** Bytes that an array of `count` items claims to follow. */
  function claim(count: number): number[] {
    return [0xdd, count >>> 24, (count >>> 16) & 0xff, (count >>> 8) & 0xff, count & 0xff];
  }

  it.each([
    ['hashes', 'block_hashes'],
    ['tokens', 'token_ids'],
    ['extra keys', 'extra_keys'],
    ['media', 'block_mm_infos'],
  ])('is not taken for %s that are claimed and do not come', (_, key) => {
    const { cache } = makeCache();
    const map = [0x82, ...encode('type'), ...encode('BlockStored'), ...encode(key), ...claim(0xffff_fff0)];
    const payload = Uint8Array.from([0x92, 0xc0, 0x91, ...map]);
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 1_000; i++) expect(cache.apply(payload).problem).toBeDefined();
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8_000_000);
  });

  it('is a small multiple of the payload, and is given back', () => {
    const { cache } = makeCache({ maxBlocks: 1_000 });
    const hashes = new Array(1_000_000).fill(1);
    const payload = batchOf({ type: 'BlockRemoved', block_hashes: hashes });
    cache.apply(payload);
    const before = process.memoryUsage().arrayBuffers;
    cache.apply(payload);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(12 * payload.length);
  });
});
