import { describe, expect, it } from 'vitest';
import { type CacheGroup, hitAlignmentOf } from '../../../../src/core/contract/evidence/cache-groups.js';
import type { Fact } from '../../../../src/core/contract/evidence/facts.js';
import {
  type ObservedSize,
  observedFacts,
  withObserved,
} from '../../../../src/core/contract/evidence/observed-size.js';
import { resolveFacts } from '../../../../src/core/contract/evidence/resolve.js';
import { BlockSizeKind, EvidenceSource } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { observedSize } from '../../../worker/sidecar/support/scripted-probe.js';

describe('what the events of an instance showed', () => {
  it('stays as it is when a rank shows the same again', () => {
    const known = [observedSize(32)];
    expect(withObserved(known, { ...observedSize(32), raw: 'another event' })).toBe(known);
  });

  it('holds every rank, and every size that one of them shows', () => {
    const known = [observedSize(32), observedSize(32, 1)];
    expect(withObserved(known, observedSize(16, 1))).toHaveLength(3);
    expect(withObserved(known, { ...observedSize(32), unit: 'bigram' })).toHaveLength(3);
  });

  it('is bounded, however many sizes a stream shows', () => {
    let known: readonly ObservedSize[] = [];
    for (let size = 1; size <= 1_000; size += 1) known = withObserved(known, observedSize(size));
    expect(known).toHaveLength(4);
  });
});

describe('the KV cache groups of a rank', () => {
  const window: CacheGroup = {
    index: 0,
    kind: 'sliding_window',
    tokensPerBlock: 16,
    windowTokens: 128,
    engineKind: 'sliding_window',
  };
  const full: CacheGroup = {
    index: 1,
    kind: 'full_attention',
    tokensPerBlock: 32,
    engineKind: 'mla_attention',
  };
  const showing = (...groups: CacheGroup[]): ObservedSize => ({
    ...observedSize(groups.at(-1)?.tokensPerBlock ?? 32),
    groups,
  });

  it('take the place of what the rank has shown of them before', () => {
    const first = withObserved([observedSize(32)], showing(window));
    expect(withObserved(first, showing(window))).toBe(first);
    expect(withObserved(first, showing(window, full)).map(({ groups }) => groups?.length)).toEqual([
      undefined,
      2,
    ]);
  });

  it('are in the report with their evidence, their widths, and the alignment of their hits', () => {
    const facts = observedFacts([showing({ ...window, tokensPerBlock: 48 }, full)]);
    const { fields, tokensPerBlock, blockSizes, evidence } = resolveFacts(facts);
    expect(tokensPerBlock).toBe(32);
    expect(fields['contract.cache_groups']).toEqual([{ ...window, tokensPerBlock: 48 }, full]);
    expect(hitAlignmentOf(fields['contract.cache_groups'] ?? [])).toBe(96);
    expect(evidence.map(({ field }) => field)).toContain('contract.cache_groups');
    expect(blockSizes).toContainEqual({
      kind: BlockSizeKind.PER_GROUP,
      sizeTokens: 48,
      groupIndex: 0,
      attentionKind: 'sliding_window',
      slidingWindowTokens: 128,
    });
  });

  it('of several ranks add up', () => {
    const { fields } = resolveFacts(observedFacts([showing(full), { ...showing(window, full), rank: 1 }]));
    expect(fields['contract.cache_groups']).toEqual([window, full]);
  });

  it('let a hit end anywhere where the main group has the widest blocks', () => {
    expect(hitAlignmentOf([window, full])).toBeUndefined();
    expect(hitAlignmentOf([window])).toBeUndefined();
    expect(hitAlignmentOf([])).toBeUndefined();
  });

  const live = {
    source: EvidenceSource.ENGINE_METRICS,
    origin: 'GET',
    raw: '',
    observedAtMs: 0,
  };
  const sizeOf = (sizeTokens: number, source: EvidenceSource, forContract: boolean): Fact => ({
    type: 'block_size',
    size: { kind: BlockSizeKind.EFFECTIVE_ATTENTION, sizeTokens },
    forContract,
    evidence: { ...live, source },
  });

  it('without full attention say the width where the running engine says none, against what is declared', () => {
    const observed = observedFacts([showing(window)]);
    expect(resolveFacts(observed).tokensPerBlock).toBe(16);
    expect(resolveFacts([...observed, sizeOf(64, EvidenceSource.DECLARED, true)]).tokensPerBlock).toBe(16);
    expect(resolveFacts([...observed, sizeOf(64, EvidenceSource.ENGINE_METRICS, false)]).tokensPerBlock).toBe(
      16,
    );
    expect(resolveFacts([...observed, sizeOf(64, EvidenceSource.ENGINE_METRICS, true)]).tokensPerBlock).toBe(
      64,
    );
  });
});
