import { cacheGroupToWire } from '../../../core/contract/evidence/cache-groups.js';
import { WIRE_CACHE_VIEWS } from '../../../core/contract/wire/cache-view.js';
import type { BlockChange, RankStatus, RelayMessage } from '../../../core/relay/relay.js';
import { type Change, type RankState, SubscribeResponse, Tier } from '../../../gen/kvaccord/v1/kv_events.js';

type TierName = Extract<BlockChange, { readonly type: 'stored' }>['tier'];

const TIERS: Readonly<Record<TierName, Tier>> = {
  device: Tier.DEVICE,
  host: Tier.HOST,
  disk: Tier.DISK,
  external: Tier.EXTERNAL,
};

/** Last instant that a Timestamp can hold: the end of the year 9999. */
const MAX_TIMESTAMP_MS = 253_402_300_799_999;

/**
 * Changes that are kept as they were written. Subscribers that keep up are sent
 * the same within a moment; to keep more would double what the history takes.
 */
const KEPT_CHANGES = 64;

/** Writes what a relay says as the bytes of a `SubscribeResponse`, for one worker. */
export class KvEventsEncoder {
  readonly #workerId: string;
  /** The last changes, oldest first: every subscriber is sent the same, written once. */
  readonly #written = new Map<RelayMessage, Buffer>();

  constructor(options: { readonly workerId: string }) {
    this.#workerId = options.workerId;
  }

  /** The same bytes for the same `changes`; anything else is written again, for it goes to one subscriber. */
  encode(message: RelayMessage): Buffer {
    if (message.type !== 'changes') return write(this.#payloadOf(message));
    const known = this.#written.get(message);
    if (known !== undefined) return known;
    const bytes = write(this.#payloadOf(message));
    this.#written.set(message, bytes);
    if (this.#written.size > KEPT_CHANGES) {
      for (const oldest of this.#written.keys()) {
        this.#written.delete(oldest);
        break;
      }
    }
    return bytes;
  }

  /** What is said while there is nothing else to say. */
  encodeHeartbeat(heartbeat: {
    readonly sentAtMs: number;
    readonly instanceId: string;
    readonly revision: bigint;
  }): Buffer {
    const { sentAtMs, instanceId, revision } = heartbeat;
    return write({ $case: 'heartbeat', value: { sentAt: new Date(sentAtMs), instanceId, revision } });
  }

  #payloadOf(message: RelayMessage): SubscribeResponse['payload'] {
    switch (message.type) {
      case 'start': {
        const { instanceId, streamId, resumed, reason, tokensPerBlock = 0 } = message;
        const ranks = message.ranks.map(rankStateOf);
        return {
          $case: 'start',
          value: { workerId: this.#workerId, instanceId, streamId, resumed, reason, ranks, tokensPerBlock },
        };
      }
      case 'snapshot_part': {
        const { rank, tier, tokensPerBlock, sequenceHashes, group } = message;
        const place = { dataParallelRank: rank, tier: TIERS[tier], tokensPerBlock };
        const part = { ...place, sequenceHashes: bytesOf(sequenceHashes) };
        return group === undefined
          ? { $case: 'snapshotPart', value: part }
          : { $case: 'groupSnapshotPart', value: { cacheGroup: group, part } };
      }
      case 'snapshot_end':
        return { $case: 'snapshotEnd', value: { sequence: BigInt(message.sequence) } };
      case 'changes': {
        const { sequence, rank, changes, publishedAtMs } = message;
        return {
          $case: 'changes',
          value: {
            sequence: BigInt(sequence),
            dataParallelRank: rank,
            changes: changes.map(changeOf),
            enginePublishedAt: dateOf(publishedAtMs),
          },
        };
      }
      case 'rank_state':
        return { $case: 'rankState', value: rankStateOf(message.status) };
    }
  }
}

function write(payload: SubscribeResponse['payload']): Buffer {
  const { buffer, byteOffset, byteLength } = SubscribeResponse.encode({ payload }).finish();
  return Buffer.from(buffer, byteOffset, byteLength);
}

function rankStateOf(status: RankStatus): RankState {
  const unknownBeforeSequence = sequenceOf(status.unknownBeforeSequence);
  const engineSequence = sequenceOf(status.engineSequence);
  return {
    dataParallelRank: status.rank,
    picture: WIRE_CACHE_VIEWS[status.picture],
    ...(unknownBeforeSequence === undefined ? {} : { unknownBeforeSequence }),
    ...(engineSequence === undefined ? {} : { engineSequence }),
    reason: status.reason,
    blockCount: BigInt(status.blockCount),
    cacheGroups: (status.cacheGroups ?? []).map(cacheGroupToWire),
  };
}

function changeOf(change: BlockChange): Change {
  switch (change.type) {
    case 'stored': {
      const { tier, tokensPerBlock, sequenceHashes, group } = change;
      const stored = { tier: TIERS[tier], tokensPerBlock, sequenceHashes: bytesOf(sequenceHashes) };
      return group === undefined
        ? { change: { $case: 'stored', value: stored } }
        : { change: { $case: 'groupStored', value: { cacheGroup: group, stored } } };
    }
    case 'removed': {
      const { tier, sequenceHashes, group } = change;
      const removed = { tier: TIERS[tier], sequenceHashes: bytesOf(sequenceHashes) };
      return group === undefined
        ? { change: { $case: 'removed', value: removed } }
        : { change: { $case: 'groupRemoved', value: { cacheGroup: group, removed } } };
    }
    case 'cleared':
      return { change: { $case: 'cleared', value: {} } };
  }
}

/** An engine's own number; one that is no number of the wire is left out. */
function sequenceOf(sequence: number | undefined): bigint | undefined {
  return sequence !== undefined && Number.isSafeInteger(sequence) && sequence >= 0
    ? BigInt(sequence)
    : undefined;
}

/** An engine's own time; one that no calendar has is left out. */
function dateOf(timeMs: number | undefined): Date | undefined {
  return timeMs !== undefined && timeMs >= 0 && timeMs <= MAX_TIMESTAMP_MS ? new Date(timeMs) : undefined;
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
