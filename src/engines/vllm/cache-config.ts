import { BlockSizeKind } from '../../gen/kvaccord/v1/capabilities.js';
import type { FactSheet } from '../facts/fact-sheet.js';
import { readWhole } from '../probing/whole-number.js';

/** Sizes of one vLLM `CacheConfig` that are reported as they are and never decide. */
const SIDE_SIZES: readonly (readonly [string, BlockSizeKind])[] = [
  ['prefix_match_unit', BlockSizeKind.PREFIX_MATCH_UNIT],
  ['hash_block_size', BlockSizeKind.HASH],
];

/** One engine's `CacheConfig`: the fields by exact name, as text. */
export interface VllmCacheConfig {
  /** A field as text; undefined when it is not there at all. `"None"` is there. */
  get(name: string): string | undefined;
  /** The field as it was reported, for evidence. */
  raw(name: string): string;
}

/**
 * States the block sizes of one vLLM engine.
 *
 * `effective_attention_block_size` is the width of a KV event; where it is
 * there, nothing else is. Older releases have only `block_size`, the
 * scheduler's unit: it is the event width as long as there is one full
 * attention group without context parallelism, so it is a candidate only
 * when nothing contradicts that, and a warning says on what it rests.
 */
export function vllmBlockSizes(config: VllmCacheConfig, sheet: FactSheet): void {
  const whole = (name: string): number | undefined => readWhole(config.get(name), name, sheet);
  const effective = whole('effective_attention_block_size');
  sheet.size(BlockSizeKind.EFFECTIVE_ATTENTION, effective, {
    forContract: true,
    raw: config.raw('effective_attention_block_size'),
  });

  const scheduler = whole('block_size');
  const doubt =
    config.get('effective_attention_block_size') === undefined ? hybridSign(config, sheet) : undefined;
  const older = config.get('effective_attention_block_size') === undefined && doubt === undefined;
  sheet.size(BlockSizeKind.SCHEDULER, scheduler, {
    forContract: older,
    raw: config.raw('block_size'),
  });
  if (effective === undefined && scheduler !== undefined) {
    if (older) {
      sheet.warn(
        `this vLLM reports no effective_attention_block_size; block_size ${scheduler} is taken, which is the ` +
          'KV-event width only for a model with one full-attention group and without context parallelism',
      );
    } else {
      const reason =
        doubt ?? `effective_attention_block_size is ${config.get('effective_attention_block_size')}`;
      sheet.warn(
        `block_size ${scheduler} is the scheduler's unit and not taken for the KV-event width (${reason}); ` +
          "the width will come from the engine's gRPC or its KV events",
      );
    }
  }
  for (const [name, kind] of SIDE_SIZES)
    sheet.size(kind, whole(name), { forContract: false, raw: config.raw(name) });
}

/** Why `block_size` cannot be the event width of a vLLM that reports no effective size; undefined when nothing speaks against it. */
function hybridSign(config: VllmCacheConfig, sheet: FactSheet): string | undefined {
  if (config.get('is_attention_free') === 'True') return 'is_attention_free is True';
  const mamba = config.get('mamba_block_size');
  if (mamba !== undefined && mamba !== 'None') return `mamba_block_size is ${mamba}: a hybrid model`;
  const tokens = readWhole(config.get('kv_cache_size_tokens'), 'kv_cache_size_tokens', sheet);
  const blocks = readWhole(config.get('num_gpu_blocks'), 'num_gpu_blocks', sheet);
  const size = readWhole(config.get('block_size'), 'block_size', sheet);
  if (tokens !== undefined && blocks !== undefined && size !== undefined && tokens !== blocks * size) {
    return `kv_cache_size_tokens ${tokens} is not block_size ${size} x num_gpu_blocks ${blocks}: several groups or context parallelism`;
  }
  return undefined;
}
