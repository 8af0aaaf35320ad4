import { TIERS, type Tier } from '../../../core/blocks/tier.js';
import { cacheGroupFromWire } from '../../../core/contract/evidence/cache-groups.js';
import { type CacheView, cacheViewFromWire } from '../../../core/contract/wire/cache-view.js';
import type { BlockChange, RankStatus, RelayMessage } from '../../../core/relay/relay.js';
import { onOneLine } from '../../../core/text/printable.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import {
  type BlocksRemoved,
  type BlocksStored,
  type Change,
  type RankState,
  type SnapshotPart,
  SubscribeResponse,
  type Picture as WirePicture,
  type Tier as WireTier,
} from '../../../gen/kvaccord/v1/kv_events.js';
import { MAX_RANKS } from '../index/rank-match.js';
import { MAX_CACHE_GROUPS } from '../index/rank-rules.js';
import { RelayError } from './relay-source.js';

/** Longest name (instance, stream) that is believed; ours have 32 characters. */
const MAX_NAME_CHARS = 512;

/**
 * Changes that one message may have: sixteen times what a sidecar puts into one. Without a bound a message of
 * 1 MiB could name half a million, which are worked off in one turn of the event loop.
 */
const MAX_CHANGES = 65_536;

/** What is kept of an engine's word for a kind of KV cache group. */
const MAX_KIND_CHARS = 64;

/** What is kept of a text for operators. */
const MAX_REASON_CHARS = 512;

/**
 * Reads one message of a sidecar; undefined for one that says only that the
 * stream lives. Throws a `RelayError` for what no sidecar says.
 */
export function readResponse(bytes: Uint8Array): RelayMessage | undefined {
  const { payload } = decode(bytes);
  switch (payload?.$case) {
    case 'start': {
      const { instanceId, streamId, resumed, reason, ranks, tokensPerBlock } = payload.value;
      if (instanceId.length > MAX_NAME_CHARS || streamId.length > MAX_NAME_CHARS)
        throw new RelayError('names itself with more characters than are taken');
      checkCount('ranks', ranks.length, MAX_RANKS);
      if (streamId === '') throw new RelayError('has no stream_id');
      return {
        type: 'start',
        instanceId,
        streamId,
        resumed,
        reason: onOneLine(reason, MAX_REASON_CHARS),
        ranks: ranks.map(readStatus),
        ...(tokensPerBlock === 0 ? {} : { tokensPerBlock }),
      };
    }
    case 'snapshotPart':
      return readPart(payload.value);
    case 'groupSnapshotPart': {
      const { cacheGroup: group, part } = payload.value;
      if (part === undefined) throw new RelayError('has a group_snapshot_part without its part');
      return { ...readPart(part), group };
    }
    case 'snapshotEnd':
      return { type: 'snapshot_end', sequence: readSequence(payload.value.sequence) };
    case 'changes': {
      const { sequence, dataParallelRank, changes, enginePublishedAt } = payload.value;
      checkCount('changes', changes.length, MAX_CHANGES);
      return {
        type: 'changes',
        sequence: readSequence(sequence),
        rank: dataParallelRank,
        changes: changes.map(readChange),
        ...(enginePublishedAt === undefined ? {} : { publishedAtMs: readTime(enginePublishedAt) }),
      };
    }
    case 'rankState':
      return { type: 'rank_state', status: readStatus(payload.value) };
    default:
      // A heartbeat, or what a newer sidecar has to say: that it is there is all that we understand.
      return undefined;
  }
}

function decode(bytes: Uint8Array): SubscribeResponse {
  try {
    return SubscribeResponse.decode(bytes);
  } catch (error) {
    throw new RelayError(`has a message that cannot be read (${describeError(error)})`);
  }
}

function readChange({ change }: Change): BlockChange {
  switch (change?.$case) {
    case 'stored':
      return readStored(change.value);
    case 'removed':
      return readRemoved(change.value);
    case 'groupStored': {
      const { cacheGroup: group, stored } = change.value;
      if (stored === undefined) throw new RelayError('has a group_stored without its blocks');
      return { ...readStored(stored), group };
    }
    case 'groupRemoved': {
      const { cacheGroup: group, removed } = change.value;
      if (removed === undefined) throw new RelayError('has a group_removed without its blocks');
      return { ...readRemoved(removed), group };
    }
    case 'cleared':
      return { type: 'cleared' };
    default:
      // To leave a change out could credit a worker with what it has lost.
      throw new RelayError('reports a change that this version does not know');
  }
}

function readPart(part: SnapshotPart): RelayMessage & { type: 'snapshot_part' } {
  const { dataParallelRank, tier, tokensPerBlock, sequenceHashes } = part;
  return {
    type: 'snapshot_part',
    rank: dataParallelRank,
    tier: readTier(tier),
    tokensPerBlock,
    sequenceHashes: readHashes(sequenceHashes),
  };
}

function readStored({
  tier,
  tokensPerBlock,
  sequenceHashes,
}: BlocksStored): BlockChange & { type: 'stored' } {
  return { type: 'stored', tier: readTier(tier), tokensPerBlock, sequenceHashes: readHashes(sequenceHashes) };
}

function readRemoved({ tier, sequenceHashes }: BlocksRemoved): BlockChange & { type: 'removed' } {
  return { type: 'removed', tier: readTier(tier), sequenceHashes: readHashes(sequenceHashes) };
}

function readStatus(state: RankState): RankStatus {
  const { dataParallelRank, picture, unknownBeforeSequence, engineSequence, reason, blockCount } = state;
  checkCount('cache_groups', state.cacheGroups.length, MAX_CACHE_GROUPS);
  const cacheGroups = state.cacheGroups.map((group) => ({
    ...cacheGroupFromWire(group),
    engineKind: onOneLine(group.engineKind, MAX_KIND_CHARS),
  }));
  return {
    rank: dataParallelRank,
    picture: readPicture(picture),
    ...(unknownBeforeSequence === undefined
      ? {}
      : { unknownBeforeSequence: readSequence(unknownBeforeSequence) }),
    ...(engineSequence === undefined ? {} : { engineSequence: readSequence(engineSequence) }),
    reason: onOneLine(reason, MAX_REASON_CHARS),
    blockCount: readSequence(blockCount),
    ...(cacheGroups.length === 0 ? {} : { cacheGroups }),
  };
}

function readPicture(picture: WirePicture): CacheView {
  // What is not said, or said in words of a later version, is not taken for more than nothing.
  return cacheViewFromWire(picture) ?? 'none';
}

/** `TIERS` in the order of the wire's numbers, which begin with 1. */
function readTier(tier: WireTier): Tier {
  const read = TIERS[tier - 1];
  if (read === undefined) throw new RelayError(`reports a tier (${tier}) that this version does not know`);
  return read;
}

function readHashes(packed: Uint8Array): Uint8Array {
  if (packed.length % 8 === 0) return packed;
  throw new RelayError(`has sequence_hashes of ${packed.length} bytes, which are no whole hashes of 8`);
}

function readSequence(sequence: bigint): number {
  if (sequence <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(sequence);
  throw new RelayError(`counts to ${sequence}, further than any stream comes`);
}

/** Milliseconds since 1970. The wire carries up to 2^63 s; of what no calendar has, a date is made that is no number. */
function readTime(time: Date): number {
  const timeMs = time.getTime();
  if (!Number.isNaN(timeMs)) return timeMs;
  throw new RelayError(
    'has an engine_published_at outside every calendar (at most 8,640,000,000,000 s are taken)',
  );
}

function checkCount(field: string, count: number, max: number): void {
  if (count > max) throw new RelayError(`has ${count} ${field} in one message, at most ${max} are taken`);
}
