import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AgreementOptions } from '../../../src/core/agreement/state/options.js';
import { canonicalSize, MAX_REHASHED_TOKENS } from '../../../src/core/contract/rehash.js';
import { EvidenceSource } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { type ReportSketch, TestFleet } from '../../support/fleet.js';

/** A worker whose sidecar can re-hash its blocks. */
function rehashable(size: number, more: ReportSketch = {}): ReportSketch {
  return { ...more, size, values: { block_rehash: 'possible', ...more.values } };
}

function fleetOf(sketches: readonly ReportSketch[], options: Partial<AgreementOptions> = {}): TestFleet {
  const fleet = new TestFleet({ isStaticDiscovery: true, blockSizePolicy: 'rehash', ...options });
  const targets = sketches.map((_, at) => `w-${at}`);
  fleet.list(...targets);
  for (const [at, target] of targets.entries()) fleet.report(target, sketches[at]);
  return fleet;
}

describe('A15: block sizes that divide each other', () => {
  it('A15: with --block-size-policy=refuse, the default, different block sizes are a conflict that names the way out', () => {
    const fleet = fleetOf([rehashable(1), rehashable(32)], { blockSizePolicy: 'refuse' });
    expect(fleet.group()).toMatchObject({ state: 'conflict', gateOpen: false });
    expect(fleet.logs('conflict').at(-1)).toContain(
      'Or let the sidecars re-hash smaller blocks into blocks of 32 tokens with --block-size-policy=rehash.',
    );
  });

  it('A15: with rehash a group agrees on the least common multiple, and an INFO and the view name both sizes', () => {
    const fleet = fleetOf([rehashable(1), rehashable(16), { size: 32 }]);
    expect(fleet.group()).toMatchObject({
      state: 'agreed',
      gateOpen: true,
      values: { tokens_per_block: 32 },
    });
    expect(fleet.logs('agreed')).toEqual(['INFO Auto-configured KV block size to 32 (from worker reports)']);
    expect(fleet.logs('rehashed')).toEqual([
      'INFO 1 worker of "tiny" has blocks of 1 token, which its sidecar will re-hash into blocks of the agreed 32 tokens, complete ones only (--block-size-policy=rehash): w-0.',
      'INFO 1 worker of "tiny" has blocks of 16 tokens, which its sidecar will re-hash into blocks of the agreed 32 tokens, complete ones only (--block-size-policy=rehash): w-1.',
    ]);
    expect([0, 1, 2].map((at) => fleet.member(`w-${at}`))).toMatchObject([
      { state: 'conforming', offer: 'full', tokensPerBlock: 1, rehashedTokensPerBlock: 32 },
      { state: 'conforming', offer: 'full', tokensPerBlock: 16, rehashedTokensPerBlock: 32 },
      { state: 'conforming', offer: 'full', tokensPerBlock: 32, rehashedTokensPerBlock: undefined },
    ]);
  });

  it('A15: sizes of which none is a multiple of the others agree on a larger one, which all are re-hashed into', () => {
    const fleet = fleetOf([rehashable(32), rehashable(48)]);
    expect(fleet.group().values).toEqual({ tokens_per_block: 96 });
    expect(fleet.member('w-1').rehashedTokensPerBlock).toBe(96);
  });

  it('A15: equal sizes agree as ever, however large they are, and nothing is re-hashed', () => {
    const fleet = fleetOf([{ size: 4_096 }, { size: 4_096 }]);
    expect(fleet.group().values).toEqual({ tokens_per_block: 4_096 });
    expect(fleet.logs('rehashed')).toEqual([]);
  });

  it('A15: a least common multiple beyond 2,048 tokens is a conflict that says so', () => {
    const fleet = fleetOf([rehashable(48), rehashable(1_024)]);
    expect(fleet.group().state).toBe('conflict');
    expect(fleet.logs('conflict').at(-1)).toContain(
      `Re-hashing does not bring these sizes together: their least common multiple is larger than ${MAX_REHASHED_TOKENS} tokens.`,
    );
  });

  it('A15: a worker whose blocks would have to be re-hashed and cannot be is a conflict before agreement, with its reason', () => {
    const fleet = fleetOf([{ size: 1 }, rehashable(32)]);
    expect(fleet.group().state).toBe('conflict');
    expect(fleet.logs('conflict').at(-1)).toContain(
      'Blocks of these workers cannot be re-hashed into blocks of 32 tokens: w-0 (its report does not say that its sidecar can re-hash blocks: it is older, or there is none).',
    );
  });

  it('A15: one that comes later is dissenting, with the reason', () => {
    const fleet = fleetOf([rehashable(1), { size: 32 }]);
    fleet.list('w-0', 'w-1', 'w-2', 'w-3');
    fleet.report('w-2', { size: 16 });
    fleet.report('w-3', rehashable(64));
    expect(fleet.member('w-2')).toMatchObject({ state: 'dissenting', offer: 'none' });
    expect(fleet.member('w-2').reason).toContain(
      'Its blocks cannot be re-hashed into blocks of 32 tokens: its report does not say that its sidecar can',
    );
    expect(fleet.member('w-3').reason).toContain(
      'Its blocks cannot be re-hashed into blocks of 32 tokens: 64 does not divide 32.',
    );
  });

  it('A15: one that could be re-hashed and cannot any more, because its events show more groups, is dissenting', () => {
    const fleet = fleetOf([rehashable(1), { size: 32 }, { size: 32 }]);
    expect(fleet.member('w-0').state).toBe('conforming');
    fleet.report('w-0', { size: 1, revision: 2 });
    expect(fleet.member('w-0')).toMatchObject({ state: 'dissenting', offer: 'none' });
    expect(fleet.member('w-0').rehashedTokensPerBlock).toBeUndefined();
  });

  it('A15: a late joiner whose size divides the agreed one conforms, with an INFO of its own, once for an instance', () => {
    const fleet = fleetOf([{ size: 32 }]);
    fleet.list('w-0', 'w-1');
    fleet.report('w-1', rehashable(1, { source: EvidenceSource.OBSERVED_EVENT }));
    fleet.report('w-1', rehashable(1, { source: EvidenceSource.OBSERVED_EVENT, revision: 2 }));
    expect(fleet.member('w-1')).toMatchObject({ state: 'verified', rehashedTokensPerBlock: 32 });
    expect(fleet.logs('rehashed')).toHaveLength(1);
    expect(fleet.logs('block_size_mismatch')).toEqual([]);
    expect(fleet.effects.filter(({ type }) => type === 'mismatch')).toEqual([]);
  });

  it('A15: when all workers can follow to a larger size, a new epoch begins with it after the settle time, for all of them', () => {
    const fleet = fleetOf([rehashable(1), rehashable(1)]);
    expect(fleet.group().values).toEqual({ tokens_per_block: 1 });
    fleet.list('w-0', 'w-1', 'w-2');
    fleet.report('w-2', { size: 32 });
    expect(fleet.member('w-2').state).toBe('dissenting');
    fleet.advance(2_000);
    expect(fleet.group()).toMatchObject({ epoch: 2, gateOpen: true, values: { tokens_per_block: 32 } });
    expect(fleet.logs('new_epoch')).toEqual([
      'WARN The tokens_per_block of "tiny" changed from 1 to 32 (3 of 3 workers): a new epoch has begun, and the blocks of all workers are re-hashed into this size.',
    ]);
    expect(fleet.logs('rehashed').at(-1)).toContain('2 workers of "tiny" have blocks of 1 token');
  });

  it('A15: an epoch keeps its size while all conform, also when the workers that asked for it are gone', () => {
    const fleet = fleetOf([rehashable(1), { size: 32 }]);
    fleet.list('w-0');
    fleet.advance(60_000);
    expect(fleet.group()).toMatchObject({ epoch: 1, values: { tokens_per_block: 32 } });
  });

  it('A15: an override wins as in A6; blocks that divide it are re-hashed into it, others have no cache knowledge', () => {
    const fleet = fleetOf([rehashable(1), rehashable(64)], {
      overrideTokensPerBlock: 32,
      mismatchedWorkers: 'load-only',
    });
    expect(fleet.group()).toMatchObject({ isOverride: true, values: { tokens_per_block: 32 } });
    expect(fleet.member('w-0')).toMatchObject({ offer: 'full', rehashedTokensPerBlock: 32 });
    expect(fleet.member('w-1')).toMatchObject({ offer: 'load_only', rehashedTokensPerBlock: undefined });
    expect(fleet.logs('override_differs')).toHaveLength(1);
  });

  it('A15: a worker that is re-hashed and differs otherwise is blamed for that alone', () => {
    const fleet = fleetOf([{ size: 32, values: { model_revision: 'a' } }]);
    fleet.list('w-0', 'w-1');
    fleet.report('w-1', rehashable(1, { values: { model_revision: 'b' } }));
    expect(fleet.member('w-1').reason).toContain('has model_revision b, the fleet agreed on a');
  });

  it('A15: what a sidecar can do is no part of the contract that is agreed, nor of its digest', () => {
    const [able, unable] = [fleetOf([rehashable(32)]), fleetOf([{ size: 32 }])];
    expect(able.group().values).toEqual(unable.group().values);
    expect(able.group().digest).toBe(unable.group().digest);
  });

  it('A15: whatever the sizes, all are in one epoch exactly when their least common multiple is not too large', () => {
    const size = fc.constantFrom(1, 2, 16, 24, 32, 48, 64, 128, 1_024, 2_048);
    fc.assert(
      fc.property(fc.array(size, { minLength: 1, maxLength: 5 }), (sizes) => {
        const fleet = fleetOf(sizes.map((each) => rehashable(each)));
        const expected = new Set(sizes).size === 1 ? sizes[0] : canonicalSize(sizes);
        expect(fleet.group().values?.tokens_per_block).toBe(expected);
        for (const [at, own] of sizes.entries()) {
          const { rehashedTokensPerBlock } = fleet.member(`w-${at}`);
          expect(rehashedTokensPerBlock).toBe(own === expected ? undefined : expected);
        }
      }),
    );
  });
});
