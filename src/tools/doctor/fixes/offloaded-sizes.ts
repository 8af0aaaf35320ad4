import { argumentsOf } from './lines.js';

/** `gpu_block_size=64 not divisible by hash_block_size=256`, `block_size must be a multiple of hash_block_size (vllm/v1/kv_offload/…`. */
const AGAINST_HASHES =
  /gpu_block_size=\d+ not divisible by hash_block_size=(\d+)|^block_size must be a multiple of hash_block_size \(.*kv_offload/;
/** `offloaded_block_size must be a multiple of gpu_block_size (vllm/v1/kv_offload/…`. */
const IN_WHOLE_BLOCKS =
  /^(?:offloaded_block_size|tokens_per_chunk) must be a multiple of (?:gpu_block_size|tokens_per_block)/;
/** `Invalid hash_block_size=528; all KV cache group block sizes must be divisible by hash_block_size. Got group block sizes=[528, 16].` */
const OF_HASHES = /Invalid hash_block_size=\d+; .{0,120}block sizes=[[(]([\d, ]+)/;
const WHY =
  'Prefixes are hashed in pieces of one size, and every block of every KV cache of the model has to be a whole number of them. With prefix caching the engine takes the largest size that divides them all; without it, and in versions that keep an older number, it does not.';
const SAME = 'router and pair follow the block size that it then logs';

/** Brings sizes of blocks together that vLLM's KV offloading compares; undefined for other sentences. */
export function offloadedSizes(
  sentence: string,
): readonly [says: string, why: string, commands: readonly string[]] | undefined {
  const hashes = AGAINST_HASHES.exec(sentence);
  if (hashes !== null) {
    const size = hashes[1] === undefined ? '' : ` ${hashes[1]}`;
    return [
      `Start vLLM with --enable-prefix-caching, without --block-size${size} and without block_size in kv_connector_extra_config; ${SAME}`,
      `${WHY} Where it is refused all the same a later vLLM has it repaired; no offloading is the last way out.`,
      [argumentsOf('vLLM', '--enable-prefix-caching', `without --block-size${size}`)],
    ];
  }
  if (IN_WHOLE_BLOCKS.test(sentence))
    return [
      'Set block_size in kv_connector_extra_config (--kv-transfer-config) to a multiple of the block size that the engine logs, or leave it out',
      'An offloaded block is a whole number of blocks of the GPU, and the engine may have raised its own block size at its start for this model or its attention.',
      [argumentsOf('vLLM', '--kv-transfer-config', "block_size a multiple of the engine's, or without it")],
    ];
  const sizes = OF_HASHES.exec(sentence)?.[1]?.match(/\d+/g)?.map(Number);
  if (sizes === undefined) return undefined;
  const common = sizes.reduce(commonDivisor);
  return [
    `Leave hash_block_size out, or set it to ${common} or a divisor of it, which all blocks of this model are a multiple of`,
    WHY,
    [argumentsOf('vLLM', `hash_block_size ${common}`)],
  ];
}

function commonDivisor(one: number, other: number): number {
  return other === 0 ? one : commonDivisor(other, one % other);
}
