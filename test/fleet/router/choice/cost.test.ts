import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DEFAULT_COST_WEIGHTS,
  logitOf,
  overlapCredit,
  potentialPrefillBlocks,
} from '../../../../src/fleet/router/choice/cost.js';

/** What one candidate costs, from blocks by tier that each count those above them. */
function costOf(
  { device, host, disk }: { device: number; host: number; disk: number },
  weights = DEFAULT_COST_WEIGHTS,
): number {
  const prefill = potentialPrefillBlocks(1_600, overlapCredit(device, host, disk, weights), 16);
  return logitOf(weights.overlapScoreWeight, prefill, 25);
}

describe('the examples of the KV router documentation', () => {
  it('New prefill tokens = Total input tokens - (Overlap blocks x Block size), in blocks', () => {
    expect(potentialPrefillBlocks(1_848, 15, 16)).toBe(100.5);
    expect(potentialPrefillBlocks(1_848, 0, 16)).toBe(115.5);
    expect(potentialPrefillBlocks(1_600, 100, 16)).toBe(0);
  });

  it('Formula for worker_1: 125.3 = 1.0 * 100.5 + 25.0 (cached_blocks: 15)', () => {
    const prefill = potentialPrefillBlocks(1_848, 15, 16);
    // The document's line says 125.3, which its own numbers do not add up to: 125.5 is their sum.
    expect(logitOf(1, prefill, 25)).toBe(125.5);
    expect(Math.abs(logitOf(1, prefill, 25) - 125.3)).toBeLessThan(0.25);
  });

  it('a higher kv-overlap-score-weight prefers the cache, a lower one the rank with less to do', () => {
    const cached = { prefill: 10, active: 60 };
    const idle = { prefill: 40, active: 20 };
    const cheaper = (weight: number) =>
      logitOf(weight, cached.prefill, cached.active) < logitOf(weight, idle.prefill, idle.active)
        ? 'cached'
        : 'idle';
    expect(cheaper(1.5)).toBe('cached');
    expect(cheaper(1)).toBe('idle');
    expect(cheaper(0)).toBe('idle');
  });

  it('the default weight is 1.0', () => {
    expect(DEFAULT_COST_WEIGHTS).toEqual({
      overlapScoreWeight: 1,
      hostCacheHitWeight: 0.75,
      diskCacheHitWeight: 0.25,
    });
  });
});

describe('the credit of cached blocks', () => {
  it('counts a block on the host three quarters, on disk one quarter, and where it is nearest alone', () => {
    expect(overlapCredit(10, 10, 10, DEFAULT_COST_WEIGHTS)).toBe(10);
    expect(overlapCredit(0, 10, 10, DEFAULT_COST_WEIGHTS)).toBe(7.5);
    expect(overlapCredit(0, 0, 10, DEFAULT_COST_WEIGHTS)).toBe(2.5);
    expect(overlapCredit(4, 8, 12, DEFAULT_COST_WEIGHTS)).toBe(4 + 3 + 1);
  });

  it('never makes prefill negative, and counts parts of a block', () => {
    expect(potentialPrefillBlocks(100, 10, 16)).toBe(0);
    expect(potentialPrefillBlocks(17, 1, 16)).toBe(1 / 16);
    expect(potentialPrefillBlocks(0, 0, 16)).toBe(0);
  });
});

describe('whatever the weights', () => {
  const weight = fc.double({ min: 0, max: 1_000, noNaN: true });
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  const weights = fc
    .tuple(weight, share, share)
    // A copy that is farther away saves no more than a nearer one.
    .map(([overlapScoreWeight, a, b]) => ({
      overlapScoreWeight,
      hostCacheHitWeight: Math.max(a, b),
      diskCacheHitWeight: Math.min(a, b),
    }));
  const blocks = fc
    .tuple(fc.nat(100), fc.nat(100), fc.nat(100))
    .map((each) => each.sort((a, b) => a - b) as [number, number, number])
    .map(([device, host, disk]) => ({ device, host, disk }));

  it('one more cached block in any tier never makes a candidate dearer', () => {
    fc.assert(
      fc.property(weights, blocks, fc.constantFrom('device', 'host', 'disk'), (someWeights, held, tier) => {
        const device = held.device + (tier === 'device' ? 1 : 0);
        const host = Math.max(device, held.host + (tier === 'host' ? 1 : 0));
        const disk = Math.max(host, held.disk + (tier === 'disk' ? 1 : 0));
        // What rounding of parts of a block may add.
        const most = costOf(held, someWeights) * (1 + 1e-12) + 1e-9;
        expect(costOf({ device, host, disk }, someWeights)).toBeLessThanOrEqual(most);
      }),
    );
  });

  it('weight 0 leaves the active blocks alone', () => {
    fc.assert(
      fc.property(weights, blocks, (someWeights, held) => {
        expect(costOf(held, { ...someWeights, overlapScoreWeight: 0 })).toBe(25);
      }),
    );
  });
});
