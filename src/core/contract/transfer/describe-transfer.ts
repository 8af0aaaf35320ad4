import type { TransferContract, TransferSideChannel } from './transfer.js';

/** Characters of a hash that are shown; fewer would do to see that two differ. */
const HASH_CHARS = 12;

/** `nixl, producer, pull, blocks of 32 tokens, LBHNC, bfloat16, KV cache auto, CPU_ATTN, hash c80b58ca062b`: what it can say, for people. */
export function describeTransfer({ values }: TransferContract): string {
  const { tokens_per_block: size, kv_cache_dtype: cache, compatibility_hash: hash } = values;
  const version = values.connector_version === undefined ? '' : ` ${values.connector_version}`;
  const parts = [
    values.connector === undefined ? undefined : `${values.connector}${version}`,
    values.role,
    values.mode,
    size === undefined ? undefined : `blocks of ${size} tokens`,
    values.block_layout,
    values.dtype,
    cache === undefined ? undefined : `KV cache ${cache}`,
    values.attention_backend,
    values.lease_seconds === undefined ? undefined : `lease ${values.lease_seconds} s`,
    hash === undefined ? undefined : `hash ${hash.slice(0, HASH_CHARS)}`,
  ];
  return parts.filter((part) => part !== undefined).join(', ');
}

/** `10.0.0.1:5600 answered`, or why not; with its rank where that is not the first. */
export function describeSideChannel({
  dataParallelRank,
  address,
  state,
  reason,
}: TransferSideChannel): string {
  const rank = dataParallelRank === 0 ? '' : `rank ${dataParallelRank}: `;
  return `${rank}${address} ${state.replace('_', ' ')}${reason === '' ? '' : `: ${reason}`}`;
}
