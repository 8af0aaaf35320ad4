import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BlockSizeFact } from '../../../../src/core/contract/evidence/facts.js';
import {
  isTokensPerBlock,
  judgeTokensPerBlock,
} from '../../../../src/core/contract/evidence/tokens-per-block.js';
import {
  anyFact,
  CONFIG,
  DECLARED,
  EFFECTIVE,
  HASH,
  HTTP,
  KV_EVENT,
  METRICS,
  OBSERVED,
  otherSize,
  REQUESTED,
  RPC,
  SCHEDULER,
  size,
} from './make-facts.js';

function sizeOf(facts: readonly BlockSizeFact[]): number | undefined {
  return judgeTokensPerBlock(facts).winner?.size.sizeTokens;
}

describe('R1: tokens_per_block is an integer from 1 to 1,048,576', () => {
  it.each([1, 16, 784, 1_048_576])('takes %s', (sizeTokens) => {
    expect(sizeOf([size(sizeTokens, METRICS)])).toBe(sizeTokens);
  });

  it.each([0, -1, 0.5, 1_048_577, Number.NaN])(
    'gives no value for %s, and names it in the reason',
    (wrong) => {
      const verdict = judgeTokensPerBlock([size(wrong, METRICS)]);
      expect(verdict.winner).toBeUndefined();
      expect(verdict.problem).toContain(`${wrong} (engine_metrics`);
      expect(verdict.problem).toContain('1 to 1,048,576');
    },
  );

  it('does not fall back to a worse source when the best one talks nonsense', () => {
    expect(sizeOf([size(0, METRICS), size(32, DECLARED)])).toBeUndefined();
  });
});

describe('R2: what nobody said stays unsaid', () => {
  it('has neither value nor problem without candidates', () => {
    expect(judgeTokensPerBlock([])).toEqual({ overruled: [] });
  });

  it('never takes a requested or a hash size for the contract', () => {
    const facts = [otherSize(64, METRICS, REQUESTED), otherSize(16, RPC, HASH)];
    expect(judgeTokensPerBlock(facts)).toEqual({ overruled: [] });
  });
});

describe('R3: several sources for one value', () => {
  it('lets an observed event outrank everything', () => {
    const stated = [size(16, RPC, KV_EVENT), size(16, METRICS), size(16, CONFIG), size(16, DECLARED)];
    const verdict = judgeTokensPerBlock([...stated, size(32, OBSERVED, KV_EVENT)]);
    expect(verdict.winner?.size.sizeTokens).toBe(32);
    expect(verdict.overruled).toHaveLength(4);
  });

  it('prefers the kind nearest to a KV event among live sources, whichever source states it', () => {
    expect(sizeOf([size(4, RPC, SCHEDULER), size(256, METRICS, EFFECTIVE)])).toBe(256);
    expect(sizeOf([size(256, METRICS, EFFECTIVE), size(64, HTTP, KV_EVENT)])).toBe(64);
  });

  it('prefers RPC and HTTP to metrics for the same kind, and keeps the loser as a conflict', () => {
    const verdict = judgeTokensPerBlock([size(16, METRICS), size(32, RPC)]);
    expect(verdict.winner?.size.sizeTokens).toBe(32);
    expect(verdict.overruled.map((fact) => fact.size.sizeTokens)).toEqual([16]);
  });

  it('gives no value when two sources of the same live rank differ, and names both', () => {
    const verdict = judgeTokensPerBlock([
      size(16, METRICS, EFFECTIVE, 'rank 0'),
      size(32, METRICS, EFFECTIVE, 'rank 1'),
    ]);
    expect(verdict.winner).toBeUndefined();
    expect(verdict.problem).toContain('16 (engine_metrics, rank 0: block_size="16")');
    expect(verdict.problem).toContain('32 (engine_metrics, rank 1: block_size="32")');
  });

  it('treats the RPC and the HTTP of a running engine as the same rank', () => {
    expect(judgeTokensPerBlock([size(16, RPC), size(32, HTTP)]).problem).toContain('same rank');
  });

  it('never calls different kinds of size a conflict', () => {
    const verdict = judgeTokensPerBlock([size(32, METRICS, EFFECTIVE), size(4, METRICS, SCHEDULER)]);
    expect(verdict.winner?.size.sizeTokens).toBe(32);
    expect(verdict.overruled).toEqual([]);
  });

  it('takes a live size of another kind for another quantity where the nearest kind says what the event showed', () => {
    const stated = [size(32, METRICS, EFFECTIVE), size(4, METRICS, SCHEDULER), size(16, DECLARED, REQUESTED)];
    const verdict = judgeTokensPerBlock([...stated, size(32, OBSERVED, KV_EVENT)]);
    expect(verdict.overruled.map((fact) => fact.size.sizeTokens)).toEqual([16]);
    const contradicted = judgeTokensPerBlock([...stated, size(64, OBSERVED, KV_EVENT)]);
    expect(contradicted.overruled.map((fact) => fact.size.sizeTokens)).toEqual([32, 4, 16]);
  });

  it('gives no value when the events of two ranks differ, and names both', () => {
    const verdict = judgeTokensPerBlock([
      size(32, METRICS, EFFECTIVE),
      size(16, OBSERVED, KV_EVENT, 'KV events of tcp://e:1'),
      size(32, OBSERVED, KV_EVENT, 'KV events of tcp://e:2'),
    ]);
    expect(verdict.winner).toBeUndefined();
    expect(verdict.problem).toContain('16 (observed_event, KV events of tcp://e:1');
    expect(verdict.problem).toContain('32 (observed_event, KV events of tcp://e:2');
  });

  it('does not let a quarrel among worse sources hide the better value', () => {
    const verdict = judgeTokensPerBlock([
      size(32, METRICS, EFFECTIVE),
      size(4, METRICS, SCHEDULER, 'rank 0'),
      size(8, METRICS, SCHEDULER, 'rank 1'),
    ]);
    expect(verdict.winner?.size.sizeTokens).toBe(32);
  });
});

describe('R4: configuration is not the running state', () => {
  it('outranks a configured value by any live one, and keeps it as a conflict', () => {
    const verdict = judgeTokensPerBlock([size(32, CONFIG), size(64, METRICS, SCHEDULER)]);
    expect(verdict.winner?.size.sizeTokens).toBe(64);
    expect(verdict.overruled.map((fact) => fact.size.sizeTokens)).toEqual([32]);
  });

  it('uses a configured value when nothing lives, and a declared one when there is nothing else', () => {
    expect(sizeOf([size(32, CONFIG), size(16, DECLARED)])).toBe(32);
    expect(sizeOf([size(16, DECLARED)])).toBe(16);
  });
});

const anySize: fc.Arbitrary<BlockSizeFact> = anyFact.filter(
  (fact): fact is BlockSizeFact => fact.type === 'block_size',
);

describe('for whatever sources say', () => {
  it('yields the same value in any order', () => {
    fc.assert(
      fc.property(fc.array(anySize, { maxLength: 6 }), fc.nat(), (facts, turn) => {
        const cut = facts.length === 0 ? 0 : turn % facts.length;
        const turned = [...facts.slice(cut), ...facts.slice(0, cut)].reverse();
        const [a, b] = [judgeTokensPerBlock(facts), judgeTokensPerBlock(turned)];
        expect(b.winner?.size.sizeTokens).toEqual(a.winner?.size.sizeTokens);
        expect(b.problem === undefined).toBe(a.problem === undefined);
        expect(b.overruled.length).toBe(a.overruled.length);
      }),
    );
  });

  it('only ever gives a value that some candidate said and that R1 allows', () => {
    fc.assert(
      fc.property(fc.array(anySize, { maxLength: 6 }), (facts) => {
        const value = sizeOf(facts);
        if (value === undefined) return;
        expect(isTokensPerBlock(value)).toBe(true);
        expect(facts.some((fact) => fact.forContract && fact.size.sizeTokens === value)).toBe(true);
      }),
    );
  });

  it('changes nothing when a source says the same twice', () => {
    fc.assert(
      fc.property(fc.array(anySize, { maxLength: 6 }), (facts) => {
        expect(sizeOf([...facts, ...facts])).toEqual(sizeOf(facts));
      }),
    );
  });
});
