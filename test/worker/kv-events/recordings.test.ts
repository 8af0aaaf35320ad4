import { describe, expect, it } from 'vitest';
import { BlockHasher } from '../../../src/core/blocks/block-hasher.js';
import { BatchDecoder } from '../../../src/worker/kv-events/decode/decode-batch.js';
import type { EngineEvent } from '../../../src/worker/kv-events/decode/engine-event.js';
import {
  ChangeReader,
  engineHash,
  makeCache,
  RECORDINGS,
  type RecordedBatch,
  type RecordedEvent,
  readRecording,
  unpack,
} from './support/engine-payloads.js';

const TAGS = { stored: 'BlockStored', removed: 'BlockRemoved', cleared: 'AllBlocksCleared', ignored: '' };

type CommonEvent = Readonly<Record<string, unknown>>;

/** What our decoder and the other program can both say of an event. */
function inCommon(event: RecordedEvent): CommonEvent {
  const hashes = event.block_hashes?.map(engineHash) ?? [];
  if (event.type !== 'BlockStored') {
    return { type: event.type, hashes, medium: event.medium, group: numberOf(event.group_idx) };
  }
  const parent = event.parent_block_hash;
  return {
    type: event.type,
    hashes,
    medium: event.medium,
    group: numberOf(event.group_idx),
    parent: parent == null ? undefined : engineHash(parent),
    tokens: event.token_ids?.map(Number),
    tokensPerBlock: Number(event.block_size),
    kind: event.kv_cache_spec_kind,
    hasExtras: (event.extra_keys ?? []).some((keys) => keys !== null),
  };
}

function numberOf(value: bigint | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}

function decoded(event: EngineEvent): CommonEvent {
  const wide = (lo = 0, hi = 0): bigint => (BigInt(hi) << 32n) | BigInt(lo);
  const hashes = Array.from({ length: event.hashCount }, (_, i) =>
    wide(event.hashes[2 * i], event.hashes[2 * i + 1]),
  );
  const type = TAGS[event.type];
  const shared = { type, hashes, medium: event.medium, group: event.groupIndex };
  if (type !== 'BlockStored') return shared;
  return {
    ...shared,
    parent: event.hasParent ? wide(event.parentLo, event.parentHi) : undefined,
    tokens: [...event.tokens.subarray(0, event.tokenCount)],
    tokensPerBlock: event.tokensPerBlock,
    kind: event.attentionKind,
    hasExtras: event.extraKeysAt >= 0,
  };
}

/** The engine's blocks, computed from the decoded events alone: every prompt is hashed from its first token. */
class Truth {
  readonly #hasher = new BlockHasher();
  readonly #blocks = new Map<bigint, { tokens: number[]; salt: string; width: number }>();

  apply(event: RecordedEvent): void {
    if (event.type === 'AllBlocksCleared') this.#blocks.clear();
    else if (event.type === 'BlockRemoved') {
      for (const hash of event.block_hashes ?? []) this.#blocks.delete(engineHash(hash));
    } else this.#store(event);
  }

  held(): string[] {
    return [...this.#blocks.values()]
      .map(({ tokens, salt, width }) => {
        const seed = this.#hasher.seedOf('', salt);
        const options = { tokensPerBlock: width, unit: 'token', seed } as const;
        const { sequenceHashes } = this.#hasher.hashTokens(Uint32Array.from(tokens), options);
        return `device ${width} ${unpack(sequenceHashes).at(-1)}`;
      })
      .sort();
  }

  #store(event: RecordedEvent): void {
    const width = Number(event.block_size);
    const parent = event.parent_block_hash == null ? undefined : engineHash(event.parent_block_hash);
    const before = parent === undefined ? undefined : this.#blocks.get(parent);
    const salt = event.extra_keys?.[0]?.[0] ?? before?.salt ?? '';
    let tokens = before?.tokens ?? [];
    for (const [index, hash] of (event.block_hashes ?? []).entries()) {
      const own = event.token_ids?.slice(index * width, (index + 1) * width) ?? [];
      tokens = [...tokens, ...own.map(Number)];
      this.#blocks.set(engineHash(hash), { tokens, salt, width });
    }
  }
}

function byRank(batches: readonly RecordedBatch[]): RecordedBatch[][] {
  const ranks = [...new Set(batches.map(({ rank }) => rank))];
  return ranks.map((rank) => batches.filter((batch) => batch.rank === rank));
}

describe.each(RECORDINGS)('the recording %s', (name) => {
  const batches = readRecording(name);

  it('is decoded as another program decodes it', () => {
    const decoder = new BatchDecoder();
    for (const { payload, publishedAtSeconds, events, rank } of batches) {
      const seen: CommonEvent[] = [];
      const head = decoder.decode(
        payload,
        (event) => seen.push(decoded(event)),
        () => expect.unreachable(),
      );
      expect(seen).toEqual(events.map(inCommon));
      expect(head).toEqual({ publishedAtMs: Math.round(publishedAtSeconds * 1_000), rank: Number(rank) });
    }
  });

  it('gives the cache view that hashing every prompt again gives, batch by batch', () => {
    for (const ofRank of byRank(batches)) {
      const { cache, held, counted } = makeCache();
      const truth = new Truth();
      const reader = new ChangeReader();
      for (const { payload, events } of ofRank) {
        const applied = cache.apply(payload);
        events.forEach((event) => {
          truth.apply(event);
        });
        reader.apply(applied.changes);
        expect(applied.problem).toBeUndefined();
        expect(applied.orphans).toBe(0);
        expect(held()).toEqual(truth.held());
        expect(reader.held()).toEqual(truth.held());
      }
      expect(cache.flaw).toBeUndefined();
      expect(counted().filter((line) => !line.includes(' applied '))).toEqual([]);
    }
  });

  it('reports the width of its first store', () => {
    for (const { payload, events } of batches) {
      const { observed } = makeCache().cache.apply(payload);
      const first = events.find((event) => event.type === 'BlockStored');
      expect(observed?.tokensPerBlock).toBe(numberOf(first?.block_size));
      if (first !== undefined) expect(observed?.unit).toBe('token');
    }
  });
});

describe('the recordings of Dynamo’s mocker, whose block hashes are Dynamo’s sequence hashes', () => {
  it.each(RECORDINGS.filter((name) => name.startsWith('dynamo')))('%s: ours are the same', (name) => {
    for (const ofRank of byRank(readRecording(name))) {
      const { cache } = makeCache();
      for (const { payload, events } of ofRank) {
        const ours = cache.apply(payload).changes.map((change) => {
          return change.type === 'cleared' ? [] : unpack(change.sequenceHashes);
        });
        const theirs = events.flatMap((event) => event.block_hashes?.map(engineHash) ?? []);
        expect(ours.flat()).toEqual(theirs);
      }
    }
  });
});

describe('what the recordings show of vLLM', () => {
  it('says the first event in short', () => {
    const [first] = readRecording('vllm-0.32.0.block-32');
    expect(makeCache().cache.apply(first?.payload ?? new Uint8Array()).observed?.raw).toBe(
      'BlockStored block_size=32 medium=GPU group_idx=0 kv_cache_spec_kind=full_attention',
    );
  });

  it('keeps a salted prompt apart from the same prompt without salt', () => {
    const batches = readRecording('vllm-0.32.0.byte-hashes');
    const { cache, held } = makeCache();
    const [plain, , , salted] = batches.map(({ payload }) => payload);
    cache.apply(plain ?? new Uint8Array());
    const before = held();
    cache.apply(salted ?? new Uint8Array());
    expect(held()).toHaveLength(before.length + 1);
  });
});
