// XXH3-64 as its specification says (xxHash 0.8, doc/xxhash_spec.md), over many blocks of tokens in one call.
// All numbers are little-endian, as WebAssembly's memory is.
// biome-ignore-all lint/correctness/noPrecisionLoss: AssemblyScript has integers of 64 bits.

const PRIME32_1: u64 = 0x9e3779b1;
const PRIME32_2: u64 = 0x85ebca77;
const PRIME32_3: u64 = 0xc2b2ae3d;
const PRIME64_1: u64 = 0x9e3779b185ebca87;
const PRIME64_2: u64 = 0xc2b2ae3d27d4eb4f;
const PRIME64_3: u64 = 0x165667b19e3779f9;
const PRIME64_4: u64 = 0x85ebca77c2b2ae63;
const PRIME64_5: u64 = 0x27d4eb2f165667c5;
const PRIME_MX1: u64 = 0x165667919e3779f9;
const PRIME_MX2: u64 = 0x9fb21c651e98df25;

/** What the two hashes of a chain step are flipped with: `flipLowOf` and `flipHighOf` of the seed 1337. */
const CHAIN_FLIP_LOW: u64 = 0x6782737bea423ef2;
const CHAIN_FLIP_HIGH: u64 = 0xaf56bc3b09964d01;

const SECRET_BYTES: usize = 192;
const STRIPE_BYTES: u32 = 64;
/** Stripes after which the accumulators are scrambled: (192 - 64) / 8. */
const STRIPES_PER_ROUND: u32 = 16;

/** The default secret. */
const SECRET: usize = memory.data<u8>(
  [
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c, 0xde,
    0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, 0xcb, 0x79,
    0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21, 0xb8, 0x08, 0x46,
    0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c, 0x3c, 0x28, 0x52, 0xbb,
    0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3, 0x71, 0x64, 0x48, 0x97, 0xa2,
    0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8, 0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c,
    0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d, 0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59,
    0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64, 0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3,
    0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb, 0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3,
    0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e, 0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8,
    0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce, 0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb,
    0xca, 0xbb, 0x4b, 0x40, 0x7e,
  ],
  16,
);

/** The secret with the seed mixed in, at the places of `SECRET`. */
const KEYS: usize = memory.data(192, 16);
/** What 129 to 240 bytes need besides: the keys of the secret's bytes 3 to 99 and, last, 119 to 135. */
const SHIFTED_KEYS: usize = memory.data(112, 16);
const LAST_KEY: usize = memory.data(16, 16);
/** The seed that the keys were made of. */
const KEYS_SEED: usize = memory.data(8, 8);

/** Where the caller's part of the memory begins; all before it is the kernel's own. */
export function inputOffset(): usize {
  return (__heap_base + 63) & ~63;
}

/**
 * Writes the block hash of each of `count` blocks, which are `bytes` long and begin `stride` bytes apart, to
 * `out`, and their sequence hashes to `sequences`. The chain is one long wait for products, in which the
 * processor hashes the next blocks: so both are made in one loop. The chain step is written out in each loop, and
 * `hash` has one caller: else they would be calls, which keep the loop's variables in memory meanwhile.
 */
export function hashBlocks(
  input: usize,
  bytes: u32,
  stride: u32,
  count: u32,
  seedLow: u32,
  seedHigh: u32,
  hasParent: bool,
  parentLow: u32,
  parentHigh: u32,
  out: usize,
  sequences: usize,
): void {
  const seed = u64From(seedLow, seedHigh);
  prepareKeys(seed);
  let previous = u64From(parentLow, parentHigh);
  const end = out + ((count as usize) << 3);
  for (; out < end; out += 8) {
    const block = hash(input, bytes, seed);
    store<u64>(out, block);
    const low = previous ^ CHAIN_FLIP_LOW;
    const high = block ^ CHAIN_FLIP_HIGH;
    previous = hasParent ? avalanche(16 + bswap<u64>(low) + high + foldedProduct(low, high)) : block;
    hasParent = true;
    store<u64>(sequences, previous);
    input += stride;
    sequences += 8;
  }
}

/** Writes the sequence hash of each of `count` block hashes to `sequences`. */
export function chainBlocks(
  blocks: usize,
  count: u32,
  hasParent: bool,
  parentLow: u32,
  parentHigh: u32,
  sequences: usize,
): void {
  let previous = u64From(parentLow, parentHigh);
  const end = blocks + ((count as usize) << 3);
  for (; blocks < end; blocks += 8) {
    const block = load<u64>(blocks);
    const low = previous ^ CHAIN_FLIP_LOW;
    const high = block ^ CHAIN_FLIP_HIGH;
    previous = hasParent ? avalanche(16 + bswap<u64>(low) + high + foldedProduct(low, high)) : block;
    hasParent = true;
    store<u64>(sequences, previous);
    sequences += 8;
  }
}

function u64From(low: u32, high: u32): u64 {
  return ((high as u64) << 32) | (low as u64);
}

function hash(input: usize, bytes: u32, seed: u64): u64 {
  if (bytes <= 16) return hashShort(input, bytes, seed);
  if (bytes <= 128) return hash17To128(input, bytes);
  if (bytes <= 240) return hash129To240(input, bytes);
  return hashLong(input, bytes);
}

/** Adds the seed to the secret's words at even places and takes it from those at odd ones. */
function prepareKeys(seed: u64): void {
  if (load<u64>(KEYS_SEED) === seed && load<u64>(KEYS) !== 0) return;
  store<u64>(KEYS_SEED, seed);
  for (let at: usize = 0; at < SECRET_BYTES; at += 16) seedKey(SECRET + at, KEYS + at, seed);
  for (let at: usize = 0; at < 112; at += 16) seedKey(SECRET + 3 + at, SHIFTED_KEYS + at, seed);
  seedKey(SECRET + 119, LAST_KEY, seed);
}

function seedKey(secret: usize, key: usize, seed: u64): void {
  store<u64>(key, load<u64>(secret) + seed);
  store<u64>(key, load<u64>(secret, 8) - seed, 8);
}

function hashShort(input: usize, bytes: u32, seed: u64): u64 {
  if (bytes > 8) {
    const low = load<u64>(input) ^ flipLowOf(seed);
    const high = load<u64>(input + bytes - 8) ^ flipHighOf(seed);
    return avalanche((bytes as u64) + bswap<u64>(low) + high + foldedProduct(low, high));
  }
  if (bytes >= 4) {
    const mixedSeed = seed ^ ((bswap<u32>(seed as u32) as u64) << 32);
    const flip = (load<u64>(SECRET, 8) ^ load<u64>(SECRET, 16)) - mixedSeed;
    const words = (load<u32>(input + bytes - 4) as u64) + ((load<u32>(input) as u64) << 32);
    let hash = words ^ flip;
    hash ^= rotl<u64>(hash, 49) ^ rotl<u64>(hash, 24);
    hash *= PRIME_MX2;
    hash ^= (hash >> 35) + (bytes as u64);
    hash *= PRIME_MX2;
    return hash ^ (hash >> 28);
  }
  if (bytes > 0) {
    const first = load<u8>(input) as u32;
    const middle = load<u8>(input + (bytes >> 1)) as u32;
    const last = load<u8>(input + bytes - 1) as u32;
    const combined = (first << 16) | (middle << 24) | last | (bytes << 8);
    const flip = ((load<u32>(SECRET) ^ load<u32>(SECRET, 4)) as u64) + seed;
    return avalanche64((combined as u64) ^ flip);
  }
  return avalanche64(seed ^ load<u64>(SECRET, 56) ^ load<u64>(SECRET, 64));
}

/** What the first of 9 to 16 bytes are flipped with, and what the last are. */
function flipLowOf(seed: u64): u64 {
  return (load<u64>(SECRET, 24) ^ load<u64>(SECRET, 32)) + seed;
}

function flipHighOf(seed: u64): u64 {
  return (load<u64>(SECRET, 40) ^ load<u64>(SECRET, 48)) - seed;
}

function hash17To128(input: usize, bytes: u32): u64 {
  const end = input + bytes;
  let sums = mixedPair(input, end - 16, KEYS);
  if (bytes > 32) {
    sums = i64x2.add(sums, mixedPair(input + 16, end - 32, KEYS + 32));
    if (bytes > 64) {
      sums = i64x2.add(sums, mixedPair(input + 32, end - 48, KEYS + 64));
      if (bytes > 96) sums = i64x2.add(sums, mixedPair(input + 48, end - 64, KEYS + 96));
    }
  }
  return avalanche((bytes as u64) * PRIME64_1 + laneSum(sums));
}

function hash129To240(input: usize, bytes: u32): u64 {
  let sums = mixedPair(input, input + 16, KEYS);
  for (let at: usize = 32; at < 128; at += 32)
    sums = i64x2.add(sums, mixedPair(input + at, input + at + 16, KEYS + at));
  let sum = avalanche((bytes as u64) * PRIME64_1 + laneSum(sums));
  const whole = (bytes & ~15) as usize;
  for (let at: usize = 128; at < whole; at += 16) sum += mixed(input + at, SHIFTED_KEYS + at - 128);
  return avalanche(sum + mixed(input + bytes - 16, LAST_KEY));
}

function hashLong(input: usize, bytes: u32): u64 {
  let sums0 = i64x2(PRIME32_3, PRIME64_1);
  let sums1 = i64x2(PRIME64_2, PRIME64_3);
  let sums2 = i64x2(PRIME64_4, PRIME32_2);
  let sums3 = i64x2(PRIME64_5, PRIME32_1);
  const lastStripe = input + bytes - STRIPE_BYTES;
  const lastByte = input + bytes - 1;
  let key = KEYS;
  let stripe = input;
  // The last stripe is taken by itself: whole stripes end before the last byte.
  for (; stripe + STRIPE_BYTES <= lastByte; stripe += STRIPE_BYTES) {
    sums0 = accumulated(sums0, v128.load(stripe), v128.load(key));
    sums1 = accumulated(sums1, v128.load(stripe, 16), v128.load(key, 16));
    sums2 = accumulated(sums2, v128.load(stripe, 32), v128.load(key, 32));
    sums3 = accumulated(sums3, v128.load(stripe, 48), v128.load(key, 48));
    key += 8;
    if (key === KEYS + 8 * STRIPES_PER_ROUND) {
      sums0 = scrambled(sums0, v128.load(KEYS, 128));
      sums1 = scrambled(sums1, v128.load(KEYS, 144));
      sums2 = scrambled(sums2, v128.load(KEYS, 160));
      sums3 = scrambled(sums3, v128.load(KEYS, 176));
      key = KEYS;
    }
  }
  sums0 = accumulated(sums0, v128.load(lastStripe), v128.load(KEYS, 121));
  sums1 = accumulated(sums1, v128.load(lastStripe, 16), v128.load(KEYS, 137));
  sums2 = accumulated(sums2, v128.load(lastStripe, 32), v128.load(KEYS, 153));
  sums3 = accumulated(sums3, v128.load(lastStripe, 48), v128.load(KEYS, 169));
  const low = foldedProducts(v128.xor(sums0, v128.load(KEYS, 11)), v128.xor(sums1, v128.load(KEYS, 27)));
  const high = foldedProducts(v128.xor(sums2, v128.load(KEYS, 43)), v128.xor(sums3, v128.load(KEYS, 59)));
  return avalanche((bytes as u64) * PRIME64_1 + laneSum(i64x2.add(low, high)));
}

function accumulated(sums: v128, data: v128, key: v128): v128 {
  const keyed = v128.xor(data, key);
  const low = v128.shuffle<i32>(keyed, keyed, 0, 2, 0, 2);
  const high = v128.shuffle<i32>(keyed, keyed, 1, 3, 1, 3);
  const product = i64x2.extmul_low_i32x4_u(low, high);
  const swapped = v128.shuffle<i64>(data, data, 1, 0);
  return i64x2.add(i64x2.add(sums, swapped), product);
}

function scrambled(sums: v128, key: v128): v128 {
  const keyed = v128.xor(v128.xor(sums, i64x2.shr_u(sums, 47)), key);
  return i64x2.mul(keyed, i64x2.splat(PRIME32_1));
}

/** The folded products of the 16 bytes at `first` with the key's first half, and of those at `second` with the rest. */
function mixedPair(first: usize, second: usize, key: usize): v128 {
  return foldedProducts(
    v128.xor(v128.load(first), v128.load(key)),
    v128.xor(v128.load(second), v128.load(key, 16)),
  );
}

function laneSum(sums: v128): u64 {
  return i64x2.extract_lane(sums, 0) + i64x2.extract_lane(sums, 1);
}

/** In the first lane the product of the two halves of `a`, folded, and in the second that of `b`. */
function foldedProducts(a: v128, b: v128): v128 {
  // Of a and b the words 0 and 1, then 2 and 3, then these the other way round.
  const left = v128.shuffle<i32>(a, b, 0, 4, 1, 5);
  const right = v128.shuffle<i32>(a, b, 2, 6, 3, 7);
  const crossed = v128.shuffle<i64>(right, right, 1, 0);
  const lowLow = i64x2.extmul_low_i32x4_u(left, right);
  const highHigh = i64x2.extmul_high_i32x4_u(left, right);
  const lowHigh = i64x2.extmul_low_i32x4_u(left, crossed);
  const highLow = i64x2.extmul_high_i32x4_u(left, crossed);
  const lowMask = i64x2.splat(0xffffffff);
  const middle = i64x2.add(highLow, i64x2.shr_u(lowLow, 32));
  const carried = i64x2.add(lowHigh, v128.and(middle, lowMask));
  const high = i64x2.add(highHigh, i64x2.add(i64x2.shr_u(middle, 32), i64x2.shr_u(carried, 32)));
  const low = v128.shuffle<i32>(lowLow, i64x2.shl(carried, 32), 0, 5, 2, 7);
  return v128.xor(high, low);
}

function mixed(input: usize, key: usize): u64 {
  return foldedProduct(load<u64>(input) ^ load<u64>(key), load<u64>(input, 8) ^ load<u64>(key, 8));
}

/** The two halves of the 128-bit product, one xor the other. */
function foldedProduct(a: u64, b: u64): u64 {
  const aLow = a & 0xffffffff;
  const aHigh = a >> 32;
  const bLow = b & 0xffffffff;
  const bHigh = b >> 32;
  const lowLow = aLow * bLow;
  // Cannot overflow: (2^32 - 1)^2 + (2^32 - 1) < 2^64, and so for the sum below.
  const highLow = aHigh * bLow + (lowLow >> 32);
  const lowHigh = aLow * bHigh + (highLow & 0xffffffff);
  const high = aHigh * bHigh + (highLow >> 32) + (lowHigh >> 32);
  return high ^ ((lowHigh << 32) | (lowLow & 0xffffffff));
}

function avalanche(hash: u64): u64 {
  hash = (hash ^ (hash >> 37)) * PRIME_MX1;
  return hash ^ (hash >> 32);
}

/** The avalanche of XXH64, which the shortest inputs use. */
function avalanche64(hash: u64): u64 {
  hash = (hash ^ (hash >> 33)) * PRIME64_2;
  hash = (hash ^ (hash >> 29)) * PRIME64_3;
  return hash ^ (hash >> 32);
}
