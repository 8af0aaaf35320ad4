import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/tools/doctor/diagnose.js';
import type { Evidence } from '../../../src/tools/doctor/evidence.js';
import { propertyRuns } from '../../support/property-runs.js';
import { anyEvidence, anyMemory } from './support/any-evidence.js';
import { frontendPage, joined, logOf, settingOf, sizeOf, tallyOf } from './support/evidence.js';

describe('any evidence', () => {
  it('is answered: never thrown at, and without a verdict that its own text denies', () => {
    fc.assert(
      fc.property(anyEvidence, anyMemory, (evidence, memory) => {
        const { verdict, headline, advice, assessments, unknowns } = diagnose(evidence, memory);
        expect(headline).not.toMatch(/undefined|NaN/);
        expect(advice).not.toMatch(/undefined|NaN/);
        expect(JSON.stringify([assessments, unknowns])).not.toMatch(/undefined|NaN/);
        if (verdict === 'findings') expect(assessments.length).toBeGreaterThan(0);
        if (verdict === 'healthy')
          expect(assessments.every(({ confidence }) => confidence === 'possible')).toBe(true);
        if (verdict === 'unknown') expect(assessments).toEqual([]);
        expect(new Set(assessments.map(({ cause }) => cause)).size).toBe(assessments.length);
        for (const { cluesFor, fixes } of assessments) {
          expect(cluesFor.length).toBeGreaterThan(0);
          expect(fixes.every(({ verify }) => verify.length > 0)).toBe(true);
        }
      }),
      { numRuns: propertyRuns(150) },
    );
  });

  it('is answered the same whichever source came first', () => {
    const turned = <T>(entries: readonly T[]): readonly T[] => [...entries].reverse();
    fc.assert(
      fc.property(anyEvidence, (evidence) => {
        const other: Evidence = {
          sources: turned(evidence.sources),
          sizes: turned(evidence.sizes),
          settings: turned(evidence.settings),
          logs: turned(evidence.logs),
          metrics: turned(evidence.metrics),
          findings: turned(evidence.findings),
          manifests: turned(evidence.manifests),
          fleets: turned(evidence.fleets),
          tokens: turned(evidence.tokens),
          eventSources: turned(evidence.eventSources),
          models: turned(evidence.models),
          gpus: turned(evidence.gpus),
        };
        expect(diagnose(other)).toEqual(diagnose(evidence));
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  it('ranks the surest first', () => {
    const rank = { certain: 0, likely: 1, possible: 2 };
    fc.assert(
      fc.property(anyEvidence, (evidence) => {
        const ranks = diagnose(evidence).assessments.map(({ confidence }) => rank[confidence]);
        expect(ranks).toEqual([...ranks].sort((a, b) => a - b));
      }),
    );
  });

  it('never blinds a router that finds blocks', () => {
    fc.assert(
      fc.property(anyEvidence, (evidence) => {
        const works = joined(
          {
            ...evidence,
            logs: evidence.logs.map((one) => ({ ...one, decisions: undefined })),
            metrics: [],
            sizes: [],
          },
          frontendPage({ size: 32, hitRate: 0.8, cachedTokens: 160_000, stored: 900 }),
          { sizes: [sizeOf('worker', 32, 'in_use')] },
        );
        const named = diagnose(works).assessments.map(({ cause }) => cause);
        expect(named).not.toContain('no_shared_prefixes');
        expect(named).not.toContain('cache_churn');
        expect(named).not.toContain('other_namespace');
      }),
    );
  });
});

describe('what explains what', () => {
  it('strikes from weaker causes what a surer one accounts for, and says so', () => {
    const { assessments } = diagnose(
      joined(frontendPage({ size: 16, hitRate: 0, cachedTokens: 128_000, stored: 15, parentMissing: 33 }), {
        sizes: [sizeOf('worker', 32, 'observed')],
        logs: [logOf([tallyOf('events_lost', 2), tallyOf('parent_block_not_found', 33)])],
      }),
    );
    expect(assessments.map(({ cause }) => cause)).toEqual(['block_size_mismatch', 'events_lost']);
  });

  it('keeps the first cause of the list first among equally sure ones', () => {
    const { assessments } = diagnose(
      joined({
        settings: [settingOf('frontend', 'router_mode', 'random')],
        sizes: [sizeOf('router', 16, 'configured'), sizeOf('worker', 32, 'in_use')],
      }),
    );
    expect(assessments.map(({ cause }) => cause)).toEqual(['block_size_mismatch', 'not_kv_routing']);
  });
});

describe('a fleet whose engines cannot take each other’s block size', () => {
  const of = (who: string, backend: string, tokensPerBlock: number): Partial<Evidence> => ({
    sizes: [{ ...sizeOf('worker', tokensPerBlock, 'observed'), who }],
    settings: [settingOf('worker', 'backend', backend, { who })],
  });
  const adviceFor = (vllm: number): string | undefined =>
    diagnose(
      joined(of('a', 'sglang', 1), of('b', 'vllm', vllm), {
        fleets: [
          {
            group: 'tiny',
            state: 'conflict',
            gateOpen: false,
            tokensPerBlock: undefined,
            routingMode: undefined,
            reasons: [],
            members: [
              {
                worker: 'a',
                state: 'reported',
                reason: '',
                tokensPerBlock: 1,
                declaredTokensPerBlock: undefined,
              },
              {
                worker: 'b',
                state: 'reported',
                reason: '',
                tokensPerBlock: vllm,
                declaredTokensPerBlock: undefined,
              },
            ],
            origin: { place: 'http://aggregator:9400', text: '' },
          },
        ],
      }),
    ).advice;

  it('gets the size that all of them can take, or that there is none', () => {
    expect(adviceFor(32)).toBe(
      'Start a with a block size of 32 tokens (--page-size 32), which all engines can take.',
    );
    expect(adviceFor(1_056)).toBe(
      'Serve b under another model name (--served-model-name NAME): no block size fits all.',
    );
  });
});
