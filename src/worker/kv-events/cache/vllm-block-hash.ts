import { createHash } from 'node:crypto';

/** The seed of a chain where `PYTHONHASHSEED` is not set (vLLM 0.32, `v1/core/kv_cache_utils.py`). */
const SEED = 'vllm-none-hash';
/** Python splits what is larger into frames of its own; blocks have far less. */
const MAX_FRAME_BYTES = 60_000;
/** Largest encoding of one token. */
const TOKEN_BYTES = 5;

/**
 * How a vLLM hashes a block: SHA-256 of the digest of the block before, the
 * token ids and no further keys (`hash_block_tokens`), in the encoding of its
 * `prefix_caching_hash_algo`. Events carry the last eight bytes of the digest.
 */
export interface HashScheme {
  /** Digest before the first block of a prompt. */
  readonly root: Buffer;
  /** `tokens`: those of one block. */
  readonly digest: (before: Uint8Array, tokens: Uint32Array) => Buffer;
}

/** `sha256`: pickle of protocol 5; and `sha256_cbor`: canonical CBOR. */
export const HASH_SCHEMES: readonly HashScheme[] = [
  {
    root: sha256(pickled(pickledText(SEED))),
    digest: (before, tokens) => sha256(pickledBlock(before, tokens)),
  },
  { root: sha256(cborText(SEED)), digest: (before, tokens) => sha256(cborBlock(before, tokens)) },
];

/** The part of a digest that events carry: low and high words. */
export function eventHashOf(digest: Buffer): { readonly lo: number; readonly hi: number } {
  return { lo: digest.readUInt32BE(28), hi: digest.readUInt32BE(24) };
}

/** Whether blocks of this width can be hashed here. */
export function isHashable(tokensPerBlock: number): boolean {
  return tokensPerBlock * TOKEN_BYTES <= MAX_FRAME_BYTES;
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}

function pickled(content: Uint8Array): Buffer {
  const head = Buffer.alloc(11);
  head.set([0x80, 5, 0x95]);
  head.writeUInt32LE(content.length, 3);
  return Buffer.concat([head, content]);
}

function pickledText(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x8c, text.length]), Buffer.from(text), Buffer.from([0x94, 0x2e])]);
}

/** `(before, (token, …), None)`. */
function pickledBlock(before: Uint8Array, tokens: Uint32Array): Buffer {
  const out = Buffer.alloc(16 + before.length + TOKEN_BYTES * tokens.length);
  let at = 0;
  const put = (...bytes: readonly number[]): void => {
    for (const byte of bytes) out[at++] = byte;
  };
  put(0x43, before.length);
  out.set(before, at);
  at += before.length;
  put(0x94);
  if (tokens.length > 3) put(0x28);
  for (const token of tokens) {
    if (token < 0x100) put(0x4b, token);
    else if (token < 0x1_0000) put(0x4d, token & 0xff, token >>> 8);
    else {
      put(0x4a);
      at = out.writeUInt32LE(token, at);
    }
  }
  put(tokens.length > 3 ? 0x74 : 0x84 + tokens.length, 0x94, 0x4e, 0x87, 0x94, 0x2e);
  return pickled(out.subarray(0, at));
}

function cborHead(major: number, value: number): Buffer {
  if (value < 24) return Buffer.from([major | value]);
  if (value < 0x100) return Buffer.from([major | 24, value]);
  if (value < 0x1_0000) return Buffer.from([major | 25, value >>> 8, value & 0xff]);
  const wide = Buffer.alloc(5);
  wide[0] = major | 26;
  wide.writeUInt32BE(value, 1);
  return wide;
}

function cborText(text: string): Buffer {
  return Buffer.concat([cborHead(0x60, text.length), Buffer.from(text)]);
}

function cborBlock(before: Uint8Array, tokens: Uint32Array): Buffer {
  const ids = [...tokens].map((token) => cborHead(0, token));
  const parts = [
    cborHead(0x80, 3),
    cborHead(0x40, before.length),
    before,
    cborHead(0x80, tokens.length),
    ...ids,
  ];
  return Buffer.concat([...parts, Buffer.from([0xf6])]);
}
