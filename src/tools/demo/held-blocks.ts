import { BlockHasher } from '../../core/blocks/block-hasher.js';
import { HASH_BYTES } from '../../core/blocks/packed-hashes.js';
import { onAbort } from '../../edge/platform/time/on-abort.js';
import type { RpcChannel } from '../../edge/rpc/channel.js';
import { KvEventsClient, type SubscribeResponse } from '../../gen/kvaccord/v1/kv_events.js';

/**
 * Asks a sidecar over gRPC what its worker holds: the sequence hashes of the
 * snapshot with which every stream begins. Rejects when the stream breaks, or
 * with `signal.reason`.
 */
export async function readHeldBlocks(channel: RpcChannel, signal: AbortSignal): Promise<ReadonlySet<bigint>> {
  const held = new Set<bigint>();
  await channel.waitForReady(signal);
  const stream = channel
    .createClient(KvEventsClient)
    .subscribe({ resumeStreamId: '', resumeSequence: 0n, tokensPerBlock: 0 });
  const leave = onAbort(signal, () => stream.cancel());
  try {
    for await (const { payload } of stream as AsyncIterable<SubscribeResponse>) {
      if (payload?.$case === 'snapshotEnd') break;
      if (payload?.$case === 'snapshotPart') {
        for (const hash of unpack(payload.value.sequenceHashes)) held.add(hash);
      }
    }
    return held;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    leave();
    stream.on('error', () => {});
    stream.cancel();
  }
}

/** What a router with a block size of `tokensPerBlock` finds of a prompt. */
export interface FoundBlocks {
  /** Whole blocks that it looks for. */
  readonly blockCount: number;
  /** Leading ones that are held. */
  readonly found: number;
}

/** Cuts and hashes a prompt as a router does, and looks the blocks up among those that are held. */
export function findHeldBlocks(
  held: ReadonlySet<bigint>,
  tokenIds: readonly number[],
  tokensPerBlock: number,
): FoundBlocks {
  const hasher = new BlockHasher();
  const seed = hasher.seedOf('', '');
  const { sequenceHashes } = hasher.hashTokens(Uint32Array.from(tokenIds), {
    tokensPerBlock,
    unit: 'token',
    seed,
  });
  const wanted = unpack(sequenceHashes);
  const firstMissing = wanted.findIndex((hash) => !held.has(hash));
  return { blockCount: wanted.length, found: firstMissing < 0 ? wanted.length : firstMissing };
}

function unpack(packed: Uint8Array): bigint[] {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  const count = packed.byteLength / HASH_BYTES;
  return Array.from({ length: count }, (_, index) => view.getBigUint64(HASH_BYTES * index, true));
}
