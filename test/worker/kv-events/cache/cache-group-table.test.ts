import { describe, expect, it } from 'vitest';
import {
  CacheGroupTable,
  MAX_CACHE_GROUPS,
} from '../../../../src/worker/kv-events/cache/cache-group-table.js';
import { EngineEvent } from '../../../../src/worker/kv-events/decode/engine-event.js';

function eventOf(type: 'stored' | 'removed', fields: Partial<EngineEvent>): EngineEvent {
  const event = new EngineEvent();
  event.reset(type);
  return Object.assign(event, { tokensPerBlock: 16 }, fields);
}

const stored = (fields: Partial<EngineEvent>): EngineEvent => eventOf('stored', fields);
const removed = (fields: Partial<EngineEvent>): EngineEvent => eventOf('removed', fields);

describe('blocks are followed', () => {
  it('when their event reports neither group nor kind', () => {
    const table = new CacheGroupTable();
    expect([table.read(stored({})), table.read(removed({}))]).toEqual([undefined, undefined]);
    expect([table.groups, table.mainIndex, table.doubt]).toEqual([[], 0, undefined]);
  });

  it.each([
    ['full_attention', 'full_attention'],
    ['mla_attention', 'full_attention'],
    ['sink_full_attention', 'full_attention'],
    ['sliding_window', 'sliding_window'],
    ['sliding_window_mla', 'sliding_window'],
    ['mamba', 'state'],
  ])('of the kind %s, which is found again as %s', (attentionKind, kind) => {
    const table = new CacheGroupTable();
    table.read(stored({ attentionKind: 'mamba', groupIndex: 1 }));
    expect(table.read(stored({ attentionKind, groupIndex: 3, slidingWindow: 64 }))).toBeUndefined();
    expect(table.groups[1]).toMatchObject({ index: 3, kind, engineKind: attentionKind, tokensPerBlock: 16 });
    expect(table.doubt).toBeUndefined();
  });

  it('when their group was learned, and their event names it alone', () => {
    const table = new CacheGroupTable();
    table.read(stored({ groupIndex: 2, attentionKind: 'mla_attention' }));
    expect(table.read(removed({ groupIndex: 2 }))).toBeUndefined();
    expect(table.read(stored({ groupIndex: 2 }))).toBeUndefined();
  });

  it('of a window in a group whose kind is not named', () => {
    const table = new CacheGroupTable();
    expect(table.read(stored({ groupIndex: 1, slidingWindow: 64 }))).toBeUndefined();
    expect(table.groups).toMatchObject([{ kind: 'sliding_window', windowTokens: 64, engineKind: '' }]);
  });

  it('as full attention in group 0 where other groups alone name their kinds', () => {
    const table = new CacheGroupTable();
    table.read(stored({ groupIndex: 0 }));
    table.read(stored({ groupIndex: 1, attentionKind: 'mamba' }));
    expect(table.groups.map(({ index, kind }) => [index, kind])).toEqual([
      [0, 'full_attention'],
      [1, 'state'],
    ]);
    expect([table.mainIndex, table.hasFullAttention]).toEqual([0, true]);
  });
});

describe('blocks are not followed', () => {
  it.each(['encoder_only_attention', 'cross_attention'])('of the kind %s, which is never cached', (kind) => {
    const table = new CacheGroupTable();
    expect(table.read(stored({ attentionKind: kind, groupIndex: 1 }))).toBe('non_main_attention');
    expect(table.doubt).toBeUndefined();
  });

  it('when nobody knows their kind, and their group with it', () => {
    const table = new CacheGroupTable();
    expect(table.read(stored({ attentionKind: 'quantum_attention', groupIndex: 0 }))).toBe(
      'unknown_attention_kind',
    );
    expect(table.read(removed({ groupIndex: 0 }))).toBe('unknown_attention_kind');
  });

  it('when no store has named their group, which alone is no doubt when they go', () => {
    const table = new CacheGroupTable();
    expect(table.read(removed({ groupIndex: 1 }))).toBe('unlearned_group');
    expect(table.doubt).toBeUndefined();
    expect(table.read(stored({ groupIndex: 1 }))).toBe('unlearned_group');
    expect(table.doubt).toContain('group 1');
    table.read(stored({ groupIndex: 1, attentionKind: 'mamba' }));
    expect(table.doubt).toBeUndefined();
  });

  it('when their group is forgotten', () => {
    const table = new CacheGroupTable();
    table.read(stored({ groupIndex: 2, attentionKind: 'mla_attention' }));
    table.clear();
    expect(table.read(removed({ groupIndex: 2 }))).toBe('unlearned_group');
  });

  it('of more groups than are remembered', () => {
    const table = new CacheGroupTable();
    for (let groupIndex = 0; groupIndex <= MAX_CACHE_GROUPS; groupIndex += 1) {
      table.read(stored({ groupIndex, attentionKind: 'mamba' }));
    }
    expect(table.groups).toHaveLength(MAX_CACHE_GROUPS);
    expect(table.doubt).toContain('more than 64');
  });
});

describe('the width of a group', () => {
  it('is not learned from a farther tier, which may have other blocks', () => {
    const table = new CacheGroupTable();
    table.read(stored({ groupIndex: 0, attentionKind: 'mamba', medium: 'CPU', tokensPerBlock: 256 }));
    expect(table.groups).toEqual([]);
    table.read(stored({ groupIndex: 0, attentionKind: 'mamba', medium: 'GPU' }));
    table.read(stored({ groupIndex: 0, attentionKind: 'mamba', medium: 'CPU', tokensPerBlock: 256 }));
    expect(table.groups).toMatchObject([{ tokensPerBlock: 16 }]);
    expect(table.doubt).toBeUndefined();
  });
});

it('a group that changes its kind is not understood any more', () => {
  const table = new CacheGroupTable();
  table.read(stored({ groupIndex: 0, attentionKind: 'sliding_window', slidingWindow: 64 }));
  table.read(stored({ groupIndex: 0, attentionKind: 'sliding_window', slidingWindow: 128 }));
  expect(table.doubt).toContain('first as sliding_window of 64 tokens and then as sliding_window');
});
