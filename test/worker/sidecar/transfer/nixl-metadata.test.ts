import { decode, encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UnreadableError } from '../../../../src/worker/kv-events/decode/msgpack-reader.js';
import { NIXL_QUESTION, readNixlMetadata } from '../../../../src/worker/sidecar/transfer/nixl-metadata.js';
import { RECORDED_QUESTION, recordedAnswer } from './recorded-side-channel.js';

const EMPTY = new Uint8Array(0);

/** What reading comes to: the metadata, or that it was refused. Anything else that is thrown fails the test. */
function outcome(frames: readonly Uint8Array[]): unknown {
  try {
    return readNixlMetadata(frames);
  } catch (error) {
    if (error instanceof UnreadableError) return 'refused';
    throw error;
  }
}

describe("NIXL's metadata", () => {
  it('is asked for in the bytes that a decode engine of vLLM sends, which are three values', () => {
    expect(Buffer.from(NIXL_QUESTION)).toEqual(RECORDED_QUESTION);
    expect(decode(NIXL_QUESTION)).toEqual([new TextEncoder().encode('get_meta_msg'), 0, 0]);
  });

  it('is read from recorded answers, whose hashes differ with the dtype', () => {
    const bfloat16 = readNixlMetadata(recordedAnswer('bfloat16'));
    expect(bfloat16).toEqual({
      compatibilityHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      engineId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      blockSize: 32,
      layout: 'LBHNC',
      attentionBackend: 'CPU_ATTN',
    });
    const float16 = readNixlMetadata(recordedAnswer('float16'));
    expect(float16.compatibilityHash).not.toBe(bfloat16.compatibilityHash);
    expect({ ...float16, compatibilityHash: '', engineId: '' }).toEqual({
      ...bfloat16,
      compatibilityHash: '',
      engineId: '',
    });
  });

  it('has the hash alone where another version has the rest in another form', () => {
    const frames = [
      EMPTY,
      encode({ compatibility_hash: 'abc', agent_metadata_bytes: encode({ block_size: 'x' }) }),
    ];
    expect(readNixlMetadata(frames)).toEqual({ compatibilityHash: 'abc' });
  });

  it.each([
    ['no frame', []],
    ['no delimiter', [encode({ compatibility_hash: 'a' })]],
    ['four frames', [EMPTY, encode({ compatibility_hash: 'a' }), EMPTY, EMPTY]],
    ['no map', [EMPTY, encode([1, 2, 3])]],
    ['no hash', [EMPTY, encode({ agent_metadata_bytes: EMPTY })]],
    ['a hash that is a number', [EMPTY, encode({ compatibility_hash: 7 })]],
    ['a hash that is too long', [EMPTY, encode({ compatibility_hash: 'a'.repeat(513) })]],
    ['a hash that would steer a terminal', [EMPTY, encode({ compatibility_hash: 'a\u001b[2J' })]],
    ['a map that claims 2^32 keys', [EMPTY, new Uint8Array([0xdf, 0xff, 0xff, 0xff, 0xff])]],
    ['more than 4 MiB', [EMPTY, new Uint8Array(4 * 1024 * 1024 + 1)]],
    ['nesting without an end', [EMPTY, new Uint8Array(1_000).fill(0x91)]],
  ])('is refused with %s', (_, frames) => {
    expect(outcome(frames)).toBe('refused');
  });

  it('is read or refused whatever comes, and never throws anything else', () => {
    const [, payload = EMPTY] = recordedAnswer('bfloat16');
    const mutated = fc
      .array(fc.tuple(fc.nat(payload.length - 1), fc.nat(255)), { minLength: 1, maxLength: 12 })
      .map((changes) => {
        const bytes = Uint8Array.from(payload);
        for (const [at, byte] of changes) bytes[at] = byte;
        return bytes;
      });
    fc.assert(
      fc.property(fc.oneof(mutated, fc.uint8Array({ maxLength: 200 })), (bytes) => {
        const found = outcome([EMPTY, bytes]);
        expect(found === 'refused' || typeof found === 'object').toBe(true);
        expect(JSON.stringify(found)).not.toContain('agent metadata');
      }),
    );
  });
});
