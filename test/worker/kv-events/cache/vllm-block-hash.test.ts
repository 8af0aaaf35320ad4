import { describe, expect, it } from 'vitest';
import {
  eventHashOf,
  HASH_SCHEMES,
  isHashable,
} from '../../../../src/worker/kv-events/cache/vllm-block-hash.js';

/** Last eight bytes of what Python 3.11 and cbor2 made of the same: root, and blocks of three prompts after it. */
const TRUTH = [
  ['sha256', '105ae6b4f0d71198', 'ebbc82df702bc123', '769f6f0a874bb774', '2c98006424d3c4b6'],
  ['sha256_cbor', '941b276b9581eef0', '6929092bac316cfb', '7bf09471121a0304', 'e5cda18bd1a823b2'],
] as const;

const endOf = (digest: Uint8Array): string => Buffer.from(digest).subarray(24).toString('hex');

describe.each(TRUTH)('the hash %s of a block', (name, root, mixed, short, long) => {
  const scheme = HASH_SCHEMES[name === 'sha256' ? 0 : 1];
  const after = (...tokens: readonly number[]): string =>
    scheme === undefined ? '' : endOf(scheme.digest(scheme.root, Uint32Array.from(tokens)));

  it('is that of vLLM, for token ids of every length', () => {
    expect(endOf(scheme?.root ?? new Uint8Array())).toBe(root);
    expect(after(7, 255, 256, 65_535, 65_536, 151_644)).toBe(mixed);
    expect(after(1, 2)).toBe(short);
    expect(after(...Array.from({ length: 300 }, (_, id) => id))).toBe(long);
  });
});

it('the words that events carry are the last eight bytes', () => {
  const digest = Buffer.alloc(32);
  digest.writeBigUInt64BE(0x0123_4567_89ab_cdefn, 24);
  expect(eventHashOf(digest)).toEqual({ lo: 0x89ab_cdef, hi: 0x0123_4567 });
});

it('blocks that Python would write in several frames are not hashed', () => {
  expect([isHashable(4_096), isHashable(65_536)]).toEqual([true, false]);
});
