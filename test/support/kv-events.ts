import { TIERS, type Tier } from '../../src/core/blocks/tier.js';
import { Picture, SubscribeResponse, type Tier as WireTier } from '../../src/gen/kvaccord/v1/kv_events.js';

/** Packed little-endian u64. */
export function pack(hashes: readonly number[]): Buffer {
  const packed = Buffer.alloc(8 * hashes.length);
  for (const [at, hash] of hashes.entries()) packed.writeBigUInt64LE(BigInt(hash), 8 * at);
  return packed;
}

function wireTier(tier: Tier): WireTier {
  return (TIERS.indexOf(tier) + 1) as WireTier;
}

/** What a test says of the start of a stream. */
export interface StartSketch {
  readonly instance?: string;
  readonly stream?: string;
  readonly resumed?: boolean;
  /** Cache view of each rank; default one rank, exact. */
  readonly ranks?: readonly Picture[];
}

/** `SubscribeResponse`s of a worker of 32 tokens per block, of instance `w-1-1` where nothing else is said. */
export const say = {
  start({
    instance = 'w-1-1',
    stream = 's-1',
    resumed = false,
    ranks = [1],
  }: StartSketch = {}): SubscribeResponse {
    return SubscribeResponse.fromPartial({
      payload: {
        $case: 'start',
        value: {
          workerId: 'w-1',
          instanceId: instance,
          streamId: stream,
          resumed,
          ranks: ranks.map((picture, dataParallelRank) => ({
            dataParallelRank,
            picture,
            reason: picture === Picture.EXACT ? '' : 'the engine was there before',
          })),
        },
      },
    });
  },
  part(hashes: readonly number[], rank = 0, tier: Tier = 'device', width = 32): SubscribeResponse {
    return {
      payload: {
        $case: 'snapshotPart',
        value: {
          dataParallelRank: rank,
          tier: wireTier(tier),
          tokensPerBlock: width,
          sequenceHashes: pack(hashes),
        },
      },
    };
  },
  end(sequence = 0): SubscribeResponse {
    return { payload: { $case: 'snapshotEnd', value: { sequence: BigInt(sequence) } } };
  },
  stored(
    sequence: number,
    hashes: readonly number[],
    rank = 0,
    tier: Tier = 'device',
    width = 32,
  ): SubscribeResponse {
    const value = { tier: wireTier(tier), tokensPerBlock: width, sequenceHashes: pack(hashes) };
    return changes(sequence, rank, { $case: 'stored', value });
  },
  removed(sequence: number, hashes: readonly number[], rank = 0, tier: Tier = 'device'): SubscribeResponse {
    const value = { tier: wireTier(tier), sequenceHashes: pack(hashes) };
    return changes(sequence, rank, { $case: 'removed', value });
  },
  cleared(sequence: number, rank = 0): SubscribeResponse {
    return changes(sequence, rank, { $case: 'cleared', value: {} });
  },
  rank(picture: Picture, reason: string, dataParallelRank = 0): SubscribeResponse {
    return SubscribeResponse.fromPartial({
      payload: { $case: 'rankState', value: { dataParallelRank, picture, reason } },
    });
  },
};

type WireChange = NonNullable<
  Extract<
    NonNullable<SubscribeResponse['payload']>,
    { $case: 'changes' }
  >['value']['changes'][number]['change']
>;

function changes(sequence: number, rank: number, change: WireChange): SubscribeResponse {
  return {
    payload: {
      $case: 'changes',
      value: {
        sequence: BigInt(sequence),
        dataParallelRank: rank,
        changes: [{ change }],
        enginePublishedAt: undefined,
      },
    },
  };
}
