import { describe, expect, it } from 'vitest';
import { type CacheGroup, cacheGroupFromWire } from '../../../../src/core/contract/evidence/cache-groups.js';
import type { BlockChange, RelayMessage } from '../../../../src/core/relay/relay.js';
import { SubscribeResponse } from '../../../../src/gen/kvaccord/v1/kv_events.js';
import { KvEventsEncoder } from '../../../../src/worker/sidecar/kv-events/kv-events-wire.js';
import { stored } from '../support/fake-event-reader.js';

const storedBlocks = stored(1) as Extract<BlockChange, { type: 'stored' }>;
const encoder = new KvEventsEncoder({ workerId: 'w-1' });

describe('the wire form of what a relay says', () => {
  it('is written once for a change that many receive', () => {
    const changes: RelayMessage = { type: 'changes', sequence: 1, rank: 0, changes: [stored(1)] };
    expect(encoder.encode(changes)).toBe(encoder.encode(changes));
    expect(encoder.encode({ ...changes })).toEqual(encoder.encode(changes));
  });

  it('names the KV cache group of blocks that are not of the main one', () => {
    const group = 2;
    const { tier, tokensPerBlock, sequenceHashes } = storedBlocks;
    const part: RelayMessage = {
      type: 'snapshot_part',
      rank: 1,
      tier,
      tokensPerBlock,
      sequenceHashes,
      group,
    };
    expect(SubscribeResponse.decode(encoder.encode(part)).payload).toMatchObject({
      $case: 'groupSnapshotPart',
      value: { cacheGroup: 2, part: { dataParallelRank: 1, tokensPerBlock } },
    });
    const changes: RelayMessage = {
      type: 'changes',
      sequence: 1,
      rank: 0,
      changes: [
        { ...storedBlocks, group },
        { type: 'removed', tier, sequenceHashes, group },
      ],
    };
    const { payload } = SubscribeResponse.decode(encoder.encode(changes));
    expect(payload?.$case === 'changes' && payload.value.changes).toMatchObject([
      { change: { $case: 'groupStored', value: { cacheGroup: 2, stored: { tokensPerBlock } } } },
      { change: { $case: 'groupRemoved', value: { cacheGroup: 2, removed: {} } } },
    ]);
  });

  it('gives the KV cache groups of a rank', () => {
    const window: CacheGroup = {
      index: 1,
      kind: 'sliding_window',
      tokensPerBlock: 16,
      windowTokens: 128,
      engineKind: 'sliding_window',
    };
    const status = { rank: 0, picture: 'exact', reason: '', blockCount: 0, cacheGroups: [window] } as const;
    const { payload } = SubscribeResponse.decode(encoder.encode({ type: 'rank_state', status }));
    const groups = payload?.$case === 'rankState' ? payload.value.cacheGroups.map(cacheGroupFromWire) : [];
    expect(groups).toEqual([window]);
  });

  it.each([Number.NaN, -1, Number.POSITIVE_INFINITY, 253_402_300_800_000])(
    'leaves out the time %s that no calendar has',
    (publishedAtMs) => {
      const bytes = encoder.encode({ type: 'changes', sequence: 1, rank: 0, changes: [], publishedAtMs });
      const { payload } = SubscribeResponse.decode(bytes);
      expect(payload?.$case === 'changes' && payload.value.enginePublishedAt).toBeUndefined();
    },
  );
});
