import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/tools/doctor/diagnose.js';
import { CAUSES } from '../../../src/tools/doctor/diagnosis.js';
import type { Evidence, FleetSighting } from '../../../src/tools/doctor/evidence.js';
import type { MemoryArithmetic } from '../../../src/tools/doctor/memory/memory-arithmetic.js';
import { CASES } from './support/cases.js';
import {
  decisionsOf,
  findingOf,
  frontendPage,
  joined,
  logOf,
  memoryOf,
  namesOf,
  settingOf,
  sizeOf,
  tallyOf,
} from './support/evidence.js';

const fleet: FleetSighting = {
  group: 'tiny',
  state: 'agreed',
  gateOpen: true,
  tokensPerBlock: 32,
  routingMode: 'exact',
  reasons: [],
  members: [],
  origin: { place: 'http://aggregator:9400', text: '' },
};

describe('the matrix of causes', () => {
  it.each(CASES)('$name: $first', ({ evidence, memory, first }) => {
    const diagnosis = diagnose(evidence, memory);
    expect(namesOf(diagnosis)[0]).toBe(first);
    expect(diagnosis.verdict).toBe('findings');
    expect(diagnosis.headline).toBe(diagnosis.assessments[0]?.headline);
    expect(diagnosis.advice).toMatch(/\.$/);
  });

  it('has a fleet for every cause', () => {
    const named = new Set(CASES.map(({ first }) => first.split(' ')[0]));
    expect(CAUSES.filter((cause) => !named.has(cause))).toEqual([]);
  });

  it.each(CASES)('says of $name what to do and how to check that it is fixed', ({ evidence, memory }) => {
    for (const { cluesFor, fixes, explanation } of diagnose(evidence, memory).assessments) {
      expect(cluesFor.length).toBeGreaterThan(0);
      expect(fixes.length).toBeGreaterThan(0);
      expect(fixes.every(({ verify }) => verify.length > 0)).toBe(true);
      expect(explanation).toMatch(/\.$/);
    }
  });
});

describe('healthy fleets', () => {
  const healthy: readonly {
    readonly name: string;
    readonly evidence: Evidence;
    readonly memory?: MemoryArithmetic[];
  }[] = [
    {
      name: 'under churn: removals as many as stores, preemptions, a full cache, and prefixes found all the same',
      evidence: joined(
        frontendPage({
          size: 32,
          hitRate: 0.45,
          decisions: 9_000,
          cachedTokens: 90_000,
          stored: 50_000,
          removed: 49_500,
          removeMissing: 12,
        }),
        {
          sizes: [sizeOf('worker', 32, 'in_use')],
          logs: [
            logOf([tallyOf('preemption', 25), tallyOf('block_to_remove_not_found', 12)], {
              engine: {
                promptTokens: 0,
                cachedTokens: 0,
                prefixHitRate: { count: 9, mean: 0.45, max: 0.5, last: 0.46 },
                kvCacheUsage: { count: 9, mean: 0.97, max: 1, last: 0.98 },
                usageWhileWaiting: undefined,
                missesWithRoom: 0,
                longestLookupTokens: 0,
                runningRequests: undefined,
                waitingRequests: undefined,
                first: { place: 'worker.log:1', text: '' },
                last: { place: 'worker.log:9', text: '' },
              },
            }),
          ],
        },
      ),
      memory: [memoryOf({ demandTokens: 900_000 })],
    },
    {
      name: 'with a few stores that failed since it began',
      evidence: joined(
        frontendPage({ size: 32, hitRate: 0.8, cachedTokens: 160_000, stored: 9_000, parentMissing: 12 }),
        { logs: [logOf([tallyOf('parent_block_not_found', 12)])] },
      ),
    },
    {
      name: 'with gaps that a replay closed',
      evidence: joined(frontendPage({ size: 32, hitRate: 0.8, cachedTokens: 160_000, stored: 9_000 }), {
        logs: [logOf([tallyOf('events_lost', 3)])],
      }),
    },
    {
      name: 'with two frontends that read events',
      evidence: joined(frontendPage({ size: 32, hitRate: 0.8, cachedTokens: 160_000, stored: 900 }), {
        settings: [settingOf('frontend', 'frontend_replicas', '2')],
      }),
    },
    {
      name: 'with vLLM workers that each have a random seed',
      evidence: joined(frontendPage({ size: 32, hitRate: 0.8, cachedTokens: 160_000, stored: 900 }), {
        settings: [
          settingOf('worker', 'hash_seed', '0', { who: 'a' }),
          settingOf('worker', 'hash_seed', '1', { who: 'b' }),
        ],
        findings: [findingOf('hash-seed-differs', { severity: 'warning' })],
      }),
    },
    {
      name: 'whose manifests leave the block size out',
      evidence: joined(frontendPage({ size: 32, hitRate: 0.8, cachedTokens: 160_000, stored: 900 }), {
        sizes: [sizeOf('frontend', 16, 'default', 'graph'), sizeOf('worker', 32, 'declared')],
        findings: [findingOf('block-size-unset', { severity: 'warning' })],
      }),
    },
    {
      name: 'with adapters that are found',
      evidence: joined(frontendPage({ size: 32, hitRate: 0.8, cachedTokens: 160_000, stored: 900 }), {
        settings: [settingOf('worker', 'lora_adapters', 'sql')],
      }),
    },
    {
      name: 'with a hybrid model whose number everybody has',
      evidence: joined(frontendPage({ size: 528, hitRate: 0.6, cachedTokens: 110_000, stored: 900 }), {
        logs: [logOf([tallyOf('block_size_changed_by_engine', 1, { values: new Map([['16 -> 528', 1]]) })])],
        settings: [settingOf('worker', 'attention_kinds', 'full,mamba')],
      }),
    },
    {
      name: 'that has just begun, with the same number everywhere',
      evidence: joined(frontendPage({ size: 32, hitRate: 0, decisions: 4, cachedTokens: 0, stored: 4 }), {
        sizes: [sizeOf('worker', 32, 'in_use')],
      }),
    },
    {
      name: "by kv-accord's own word",
      evidence: joined({ fleets: [fleet] }),
    },
  ];

  it.each(healthy)('$name', ({ evidence, memory }) => {
    const diagnosis = diagnose(evidence, memory);
    expect(namesOf(diagnosis)).toEqual([]);
    expect(diagnosis.verdict).toBe('healthy');
  });
});

describe('too little evidence', () => {
  it('says so for nothing at all, and which sources would help', () => {
    const diagnosis = diagnose(joined());
    expect(diagnosis.verdict).toBe('unknown');
    expect(diagnosis.unknowns.join('\n')).toMatch(
      /kv_hit_rate[\s\S]*kv_cache_block_size[\s\S]*events_applied/,
    );
    expect(diagnosis.routing).toBeUndefined();
  });

  it('does not call ten first prompts a fault', () => {
    const diagnosis = diagnose(
      joined({ logs: [logOf([], { decisions: decisionsOf({ count: 6, reporting: 6, withoutCache: 6 }) })] }),
    );
    expect(namesOf(diagnosis)).toEqual([]);
    expect(diagnosis.verdict).toBe('unknown');
    expect(diagnosis.unknowns[0]).toContain('only 6 decisions were seen');
  });

  it('follows nothing from decisions whose lines do not report cached blocks', () => {
    const diagnosis = diagnose(
      joined({ logs: [logOf([], { decisions: decisionsOf({ reporting: 0, withoutCache: 0 }) })] }),
    );
    expect(namesOf(diagnosis)).toEqual([]);
    expect(diagnosis.unknowns[0]).toContain(
      '40 decisions were seen, and their lines do not report cached blocks',
    );
  });

  it.each([
    ['vllm', 'Where nothing sets it, vLLM takes 16 on a GPU'],
    ['sglang', 'Where nothing sets it, SGLang takes 1 where no attention kernel asks for another'],
    ['trtllm', 'Where nothing sets it, TensorRT-LLM takes 32.'],
  ])('says what %s takes where nothing sets the block size, and takes it for no proof', (value, says) => {
    const origin = { place: 'worker.log:1', text: value } as const;
    const backend = {
      side: 'worker',
      who: 'worker',
      name: 'backend',
      value,
      isDefault: false,
      origin,
    } as const;
    const { unknowns, verdict } = diagnose(joined({ logs: [logOf([], { settings: [backend] })] }));
    expect(verdict).toBe('unknown');
    expect(unknowns.find((text) => text.startsWith('Which block size the engines use'))).toContain(says);
  });

  it('names the sources that could not be read', () => {
    const source = {
      kind: 'metrics',
      name: 'http://f/metrics',
      status: 'not_read',
      detail: 'refused',
    } as const;
    expect(diagnose(joined({ source })).unknowns).toContain(
      'What metrics http://f/metrics would have shown: refused',
    );
  });
});
