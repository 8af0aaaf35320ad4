import { describe, expect, it } from 'vitest';
import type { CacheGroup } from '../../../../src/core/contract/evidence/cache-groups.js';
import { observedWidth, withGroups } from '../../../../src/worker/kv-events/cache/observed-width.js';
import { EngineEvent } from '../../../../src/worker/kv-events/decode/engine-event.js';

function store(): EngineEvent {
  const event = new EngineEvent();
  event.reset('stored');
  event.tokensPerBlock = 32;
  event.medium = 'GPU';
  return event;
}

const group = (index: number, kind: CacheGroup['kind'], tokensPerBlock: number): CacheGroup => ({
  index,
  kind,
  engineKind: kind,
  tokensPerBlock,
});

describe('an observed block size', () => {
  it('has the fields of the event that are set as its evidence', () => {
    const raw = 'BlockStored block_size=32 medium=GPU';
    expect(observedWidth(store())).toEqual({ tokensPerBlock: 32, unit: 'token', raw });
    const ofGroup = Object.assign(store(), { groupIndex: 0, attentionKind: 'full_attention', bigram: true });
    expect(observedWidth(ofGroup)).toEqual({
      tokensPerBlock: 32,
      unit: 'bigram',
      raw: `${raw} group_idx=0 kv_cache_spec_kind=full_attention`,
    });
  });

  it('is what the event calls itself where it has words of its own', () => {
    expect(observedWidth(Object.assign(store(), { words: 'stored tokens_per_block=32' })).raw).toBe(
      'stored tokens_per_block=32',
    );
  });

  it('is that of the main group of several, with all of them as evidence', () => {
    const groups = [{ ...group(0, 'sliding_window', 16), windowTokens: 128 }, group(1, 'full_attention', 64)];
    expect(withGroups(observedWidth(store()), groups)).toEqual({
      tokensPerBlock: 64,
      unit: 'token',
      raw: 'BlockStored group_idx=0 kv_cache_spec_kind=sliding_window kv_cache_spec_sliding_window=128 block_size=16; group_idx=1 kv_cache_spec_kind=full_attention block_size=64',
      groups,
    });
    expect(withGroups(observedWidth(store()), [])).toEqual(observedWidth(store()));
  });
});
