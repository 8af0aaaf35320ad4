import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readResponse } from '../../../../src/fleet/indexer/relays/read-response.js';
import { RelayError } from '../../../../src/fleet/indexer/relays/relay-source.js';
import type { CacheGroupKind } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { Picture, SubscribeResponse } from '../../../../src/gen/kvaccord/v1/kv_events.js';
import { pack, say } from '../../../support/kv-events.js';

const bytesOf = (response: SubscribeResponse): Buffer =>
  Buffer.from(SubscribeResponse.encode(response).finish());

describe('a message of a sidecar', () => {
  it('is read with all that it says', () => {
    expect(readResponse(bytesOf(say.start({ ranks: [1, 2] })))).toEqual({
      type: 'start',
      instanceId: 'w-1-1',
      streamId: 's-1',
      resumed: false,
      reason: '',
      ranks: [
        { rank: 0, picture: 'exact', reason: '', blockCount: 0 },
        { rank: 1, picture: 'partial', reason: 'the engine was there before', blockCount: 0 },
      ],
    });
    const read = readResponse(bytesOf(say.stored(7, [1, 2], 3, 'disk', 16)));
    expect(read).toMatchObject({ type: 'changes', sequence: 7, rank: 3 });
    const [change] = read?.type === 'changes' ? read.changes : [];
    expect(change).toMatchObject({ type: 'stored', tier: 'disk', tokensPerBlock: 16 });
    expect(change?.type === 'stored' && Buffer.from(change.sequenceHashes)).toEqual(pack([1, 2]));
  });

  it('says when the engine published it', () => {
    const response = say.stored(1, []);
    if (response.payload?.$case === 'changes') response.payload.value.enginePublishedAt = new Date(1_234.5);
    expect(readResponse(bytesOf(response))).toMatchObject({ publishedAtMs: 1_234 });
  });

  it('is nothing when it says only that the stream lives', () => {
    expect(readResponse(Buffer.alloc(0))).toBeUndefined();
    const heartbeat = { sentAt: new Date(0), instanceId: 'i', revision: 1n };
    expect(readResponse(bytesOf({ payload: { $case: 'heartbeat', value: heartbeat } }))).toBeUndefined();
  });

  it('has words for operators on one line, without control characters, and cut', () => {
    const read = readResponse(bytesOf(say.rank(Picture.NONE, `a\n\u001b[2Jb${'x'.repeat(5_000)}`)));
    const reason = read?.type === 'rank_state' ? read.status.reason : '';
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left.
    expect(reason).not.toMatch(/[\u0000-\u001f]/);
    expect(reason.length).toBeLessThan(600);
  });

  it('names the KV cache group of blocks, and the groups of a rank', () => {
    const part = { dataParallelRank: 2, tier: 1, tokensPerBlock: 16, sequenceHashes: pack([7]) } as const;
    const value = { cacheGroup: 3, part };
    expect(readResponse(bytesOf({ payload: { $case: 'groupSnapshotPart', value } }))).toMatchObject({
      type: 'snapshot_part',
      rank: 2,
      tier: 'device',
      tokensPerBlock: 16,
      group: 3,
    });
    const blocks = { tier: 2, tokensPerBlock: 16, sequenceHashes: pack([7]) } as const;
    const changes = [
      { change: { $case: 'groupStored', value: { cacheGroup: 3, stored: blocks } } },
      { change: { $case: 'groupRemoved', value: { cacheGroup: 4, removed: blocks } } },
    ] as const;
    const batch = SubscribeResponse.fromPartial({
      payload: { $case: 'changes', value: { sequence: 1n, changes: [...changes] } },
    });
    expect(readResponse(bytesOf(batch))).toMatchObject({
      changes: [
        { type: 'stored', tier: 'host', tokensPerBlock: 16, group: 3 },
        { type: 'removed', tier: 'host', group: 4 },
      ],
    });
    const cacheGroups = [
      { index: 5, kind: 9 as CacheGroupKind, tokensPerBlock: 16, engineKind: `holo\ngram${'x'.repeat(200)}` },
    ];
    const state = SubscribeResponse.fromPartial({ payload: { $case: 'rankState', value: { cacheGroups } } });
    const read = readResponse(bytesOf(state));
    const [group] = (read?.type === 'rank_state' && read.status.cacheGroups) || [];
    expect(group).toMatchObject({ index: 5, kind: 'other', tokensPerBlock: 16 });
    expect(group?.engineKind).toMatch(/^holo.gramx+/);
    expect(group?.engineKind.length).toBeLessThan(100);
  });

  it('takes a cache view of a later version for none', () => {
    expect(readResponse(bytesOf(say.rank(9 as Picture, 'x')))).toMatchObject({ status: { picture: 'none' } });
  });

  it.each<readonly [string, Uint8Array]>([
    ['no stream_id', bytesOf(say.start({ stream: '' }))],
    [
      'a group without its blocks',
      bytesOf(
        SubscribeResponse.fromPartial({ payload: { $case: 'groupSnapshotPart', value: { cacheGroup: 1 } } }),
      ),
    ],
    [
      'a store of a group without its blocks',
      bytesOf(
        SubscribeResponse.fromPartial({
          payload: {
            $case: 'changes',
            value: {
              sequence: 1n,
              changes: [{ change: { $case: 'groupStored', value: { cacheGroup: 1 } } }],
            },
          },
        }),
      ),
    ],
    ['an endless name', bytesOf(say.start({ instance: 'x'.repeat(600) }))],
    [
      'a sequence beyond all numbers',
      bytesOf({ payload: { $case: 'snapshotEnd', value: { sequence: 2n ** 60n } } }),
    ],
    ['a tier that nobody knows', Buffer.from([0x12, 4, 0x10, 9, 0x18, 32])],
    [
      'a time outside every calendar',
      Buffer.from([0x22, 0x0b, 0x08, 1, 0x22, 7, 0x08, 0x81, 0xa0, 0x88, 0x85, 0xbb, 0xf7]),
    ],
    ['more ranks than any worker has', bytesOf(say.start({ ranks: new Array(1_025).fill(1) }))],
    [
      'more changes than any batch has',
      Buffer.concat([
        Buffer.from([0x22, 0x82, 0x80, 0x10]),
        Buffer.alloc(2 * 131_073, Buffer.from([0x1a, 0])),
      ]),
    ],
    ['a change of no kind', Buffer.from([0x22, 4, 0x08, 1, 0x1a, 0])],
    ['a message that ends early', bytesOf(say.part([1, 2])).subarray(0, 12)],
  ])('is not believed with %s', (_, bytes) => {
    expect(() => readResponse(bytes)).toThrow(RelayError);
  });

  it('is read or refused, whatever its bytes are', () => {
    const valid = [say.start(), say.part([1, 2, 3]), say.end(5), say.stored(1, [2]), say.cleared(3)].map(
      bytesOf,
    );
    const mutated = fc
      .tuple(fc.constantFrom(...valid), fc.array(fc.tuple(fc.nat(200), fc.nat(255)), { maxLength: 6 }))
      .map(([bytes, flips]) => {
        const copy = Buffer.from(bytes);
        for (const [at, value] of flips) if (at < copy.length) copy[at] = value;
        return copy;
      });
    fc.assert(
      fc.property(fc.oneof(mutated, fc.uint8Array({ maxLength: 300 })), (bytes) => {
        try {
          readResponse(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(RelayError);
        }
      }),
      { numRuns: 3_000 },
    );
  });
});
