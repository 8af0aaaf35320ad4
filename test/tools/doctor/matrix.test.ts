import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/tools/doctor/diagnose.js';
import { CAUSES, type CauseId } from '../../../src/tools/doctor/diagnosis.js';
import type { Evidence, FleetSighting } from '../../../src/tools/doctor/evidence.js';
import type { MemoryArithmetic } from '../../../src/tools/doctor/memory/memory-arithmetic.js';
import type { MetricsPage } from '../../../src/tools/doctor/metrics/metrics-page.js';
import { readMetricsPage } from '../../../src/tools/doctor/metrics/read-metrics-page.js';
import {
  decisionsOf,
  findingOf,
  frontendPage,
  joined,
  logOf,
  memoryOf,
  misreadBy,
  namesOf,
  settingOf,
  sizeOf,
  tallyOf,
  tokensOf,
  workerPage,
} from './support/evidence.js';

const MINUTE_MS = 60_000;
const START_MS = Date.UTC(2026, 1, 16, 14, 0);
/** Ten minutes of a log. */
const SPAN = { firstMs: START_MS, lastMs: START_MS + 10 * MINUTE_MS };
const rateOf = (counts: readonly number[]) => ({ startMs: START_MS, bucketMs: MINUTE_MS, counts });

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

interface Case {
  readonly name: string;
  readonly evidence: Evidence;
  readonly memory?: readonly MemoryArithmetic[];
  /** The first that has to be named. */
  readonly first: `${CauseId} ${'certain' | 'likely' | 'possible'}`;
}

/** The page of a kv-accord frontend that finds half of its blocks, with the results of one worker. */
function resultsPage(
  of: Readonly<Record<'doubted' | 'predicted' | 'reported' | 'over', number>>,
): MetricsPage {
  const worker = '{group="tiny",worker="w-1"}';
  const name = 'kv_accord_router_worker_';
  const text = [
    `${name}doubted${worker} ${of.doubted}`,
    `${name}predicted_cached_tokens_total${worker} ${of.predicted}`,
    `${name}reported_cached_tokens_total${worker} ${of.reported}`,
    `${name}over_predicted_tokens_total${worker} ${of.over}`,
    'kv_accord_router_cached_block_ratio_sum{group="tiny"} 50',
    'kv_accord_router_cached_block_ratio_count{group="tiny"} 100',
  ].join('\n');
  return readMetricsPage('http://frontend:9463/metrics', `${text}\n`).page;
}

/** One fleet for each cause, with what an operator would have of it. */
const CASES: readonly Case[] = [
  {
    name: 'a canary whose blocks did not arrive',
    evidence: joined({
      settings: [
        {
          ...settingOf('worker', 'canary', 'failed', { who: 'w-1' }),
          origin: {
            place: 'http://aggregator:9400, worker w-1',
            text: "canary failed: /v1/completions: KV events of tcp://127.0.0.1:5557 is not this engine's",
          },
        },
      ],
    }),
    first: 'canary_failed certain',
  },
  {
    name: 'a worker whose results contradict its cache view, beside a good hit rate',
    evidence: joined({
      metrics: [resultsPage({ doubted: 1, predicted: 6_400, reported: 3_200, over: 3_200 })],
    }),
    first: 'results_contradict certain',
  },
  {
    name: 'results that differ for no known reason, of a worker that is not doubted yet',
    evidence: joined({
      metrics: [resultsPage({ doubted: 0, predicted: 6_400, reported: 5_600, over: 800 })],
    }),
    first: 'results_contradict likely',
  },
  {
    name: 'a frontend that uses 16 before an engine whose events have 32',
    evidence: joined(
      frontendPage({ size: 16, hitRate: 0, cachedTokens: 132_000, stored: 15, parentMissing: 33 }),
      { sizes: [sizeOf('worker', 32, 'observed')] },
    ),
    first: 'block_size_mismatch certain',
  },
  {
    name: 'stores without parents, no hit, and engines that reuse',
    evidence: joined(frontendPage({ hitRate: 0, cachedTokens: 132_000, stored: 15, parentMissing: 33 }), {
      logs: [logOf([tallyOf('parent_block_not_found', 4_000)])],
    }),
    first: 'block_size_mismatch likely',
  },
  {
    name: 'dynamo.router with its default of 128',
    evidence: joined({
      sizes: [sizeOf('router', 128, 'default'), sizeOf('worker', 32, 'in_use')],
      findings: [findingOf('router-block-size-default')],
    }),
    first: 'block_size_mismatch likely',
  },
  {
    name: "a worker whose card says 16 and whose engine's events have 32",
    evidence: joined(frontendPage({ size: 16, hitRate: 0, cachedTokens: 128_000, stored: 48 }), {
      sizes: [sizeOf('worker', 16, 'declared'), sizeOf('worker', 32, 'observed')],
    }),
    first: 'wrong_model_card certain',
  },
  {
    name: 'stores that are all applied, no hit, and engines that reuse',
    evidence: joined(frontendPage({ size: 16, hitRate: 0, cachedTokens: 128_000, stored: 48 })),
    first: 'wrong_model_card likely',
  },
  {
    name: 'an ERROR line about checksums',
    evidence: joined(frontendPage({ size: 32, hitRate: 0.82, cachedTokens: 160_000, stored: 48 }), {
      logs: [
        logOf([
          tallyOf('workers_rejected', 1, {
            byWorker: new Map([['c7d4e3ff8175700', 1]]),
            values: new Map([['b081f2a4 -> ebe25500', 1]]),
          }),
        ]),
      ],
      sizes: [sizeOf('worker', 32, 'in_use', 'a'), sizeOf('worker', 16, 'in_use', 'b')],
    }),
    first: 'workers_rejected certain',
  },
  {
    name: 'vLLM workers with two seeds and a router that finds nothing',
    evidence: joined(frontendPage({ hitRate: 0 }), {
      settings: [
        settingOf('worker', 'hash_seed', '0', { who: 'a' }),
        settingOf('worker', 'hash_seed', '1', { who: 'b' }),
      ],
    }),
    first: 'hash_mismatch likely',
  },
  {
    name: 'workers of one model with two chat templates, behind a router that finds blocks',
    evidence: joined(frontendPage({ hitRate: 0.8 }), {
      tokens: [tokensOf('a', [1, 2, 3]), tokensOf('b', [1, 5, 3])],
    }),
    first: 'token_mismatch certain',
  },
  {
    name: 'workers whose events are swapped, behind a router that finds blocks',
    evidence: joined(frontendPage({ hitRate: 0.8 }), {
      eventSources: [misreadBy('a', 5567, 5557), misreadBy('b', 5557, 5567)],
    }),
    first: 'misread_events certain',
  },
  {
    name: 'workers that are configured to publish nothing, and a router without a store',
    evidence: joined(frontendPage({ size: 32, hitRate: 0, cachedTokens: 128_000, stored: 0 }), {
      settings: [settingOf('worker', 'publishes_kv_events', 'false', { who: 'a' })],
    }),
    first: 'events_off certain',
  },
  {
    name: 'engines without prefix caching',
    evidence: joined(frontendPage({ hitRate: 0, cachedTokens: 0, stored: 0 }), {
      settings: [settingOf('worker', 'prefix_caching', 'False', { who: 'a' })],
    }),
    first: 'events_off certain',
  },
  {
    name: 'workers that publish, and a router without a store',
    evidence: joined(
      frontendPage({ size: 32, hitRate: 0, cachedTokens: 128_000, stored: 0 }),
      workerPage(500, 0),
    ),
    first: 'events_unreachable certain',
  },
  {
    name: 'gaps in the numbers of events, and stores that lack their parents now and then',
    evidence: joined(
      frontendPage({ size: 32, hitRate: 0.2, cachedTokens: 160_000, stored: 900, parentMissing: 100 }),
      { logs: [logOf([tallyOf('events_lost', 12, { values: new Map([['gap of 7', 12]]) })])] },
    ),
    first: 'events_lost certain',
  },
  {
    name: 'warnings of missing parents in the first two of ten minutes',
    evidence: joined(
      frontendPage({ size: 32, hitRate: 0.5, cachedTokens: 120_000, stored: 950, parentMissing: 50 }),
      {
        logs: [
          logOf(
            [tallyOf('parent_block_not_found', 50, { rate: rateOf([40, 10, 0, 0, 0, 0, 0, 0, 0, 0]) })],
            SPAN,
          ),
        ],
      },
    ),
    first: 'frontend_late likely',
  },
  {
    name: 'as many removals as stores, preemptions, a full cache, and hardly a hit',
    evidence: joined(
      frontendPage({ size: 32, hitRate: 0.02, cachedTokens: 4_000, stored: 5_000, removed: 4_800 }),
      { logs: [logOf([tallyOf('preemption', 340)])] },
    ),
    first: 'cache_churn likely',
  },
  {
    name: 'sequences that need more than the cache holds, and preemptions',
    evidence: joined(frontendPage({ size: 32, hitRate: 0.02, cachedTokens: 4_000 }), {
      logs: [logOf([tallyOf('preemption', 340)])],
    }),
    memory: [memoryOf({ capacityTokens: 300_000, demandTokens: 2_000_000 })],
    first: 'cache_churn certain',
  },
  {
    name: 'LoRA adapters, stores that are applied, no hit, and engines that reuse',
    evidence: joined(frontendPage({ size: 32, hitRate: 0, cachedTokens: 128_000, stored: 48 }), {
      settings: [settingOf('worker', 'lora_adapters', 'sql,chat')],
    }),
    first: 'other_namespace likely',
  },
  {
    name: 'an engine that raised its block size, and a frontend with the old one',
    evidence: joined(frontendPage({ size: 16, hitRate: 0, cachedTokens: 128_000 }), {
      logs: [
        logOf([tallyOf('block_size_changed_by_engine', 1, { values: new Map([['16 -> 528', 1]]) })], {
          name: 'worker.log',
        }),
      ],
    }),
    first: 'hybrid_block_size certain',
  },
  {
    name: 'three frontends that guess, each for itself',
    evidence: joined({
      settings: [
        settingOf('frontend', 'frontend_replicas', '3'),
        settingOf('frontend', 'router_uses_events', 'false'),
        settingOf('frontend', 'router_mode', 'kv'),
      ],
    }),
    first: 'unsynced_frontends likely',
  },
  {
    name: 'a frontend in round-robin mode',
    evidence: joined({ settings: [settingOf('frontend', 'router_mode', 'round-robin')] }),
    first: 'not_kv_routing certain',
  },
  {
    name: 'a router that guesses badly while workers publish',
    evidence: joined(frontendPage({ size: 32, hitRate: 0.1, cachedTokens: 160_000 }), {
      settings: [
        settingOf('frontend', 'router_mode', 'kv'),
        settingOf('frontend', 'router_uses_events', 'false'),
        settingOf('worker', 'publishes_kv_events', 'true'),
      ],
    }),
    first: 'events_ignored certain',
  },
  {
    name: 'prompts of which no two begin alike',
    evidence: joined(frontendPage({ size: 32, hitRate: 0, decisions: 400, cachedTokens: 0, stored: 900 }), {
      sizes: [sizeOf('worker', 32, 'in_use')],
    }),
    first: 'no_shared_prefixes likely',
  },
];

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
