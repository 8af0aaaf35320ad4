import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SettingName, Side, SizeBasis } from '../../../src/engines/diagnosis/sighting-words.js';
import { SIGNALS } from '../../../src/engines/diagnosis/signals.js';
import { diagnose } from '../../../src/tools/doctor/diagnose.js';
import type { Evidence, FleetSighting } from '../../../src/tools/doctor/evidence.js';
import { RULES } from '../../../src/tools/manifests/lint/rules.js';
import {
  decisionsOf,
  findingOf,
  frontendPage,
  joined,
  logOf,
  memoryOf,
  settingOf,
  sizeOf,
  tallyOf,
  workerPage,
} from './support/evidence.js';

const number = fc.oneof(fc.nat(100), fc.constantFrom(0, 1, 16, 32, 128, 1e9, -1, 0.5));
const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom(
    'true',
    'false',
    'kv',
    '16 -> 32',
    'a -> b',
    '2',
    '0.9.0',
    'trtllm',
    'vllm',
    '[]',
    'full,mamba',
  ),
);
const counts = fc
  .dictionary(text, fc.nat(50), { maxKeys: 4 })
  .map((entries) => new Map(Object.entries(entries)));

const size = fc
  .record({
    side: fc.constantFrom<Side>('frontend', 'router', 'indexer', 'worker'),
    basis: fc.constantFrom<SizeBasis>('default', 'configured', 'declared', 'in_use', 'observed'),
    tokens: number,
    who: fc.constantFrom('', 'a', 'b'),
  })
  .map(({ side, tokens, basis, who }) => sizeOf(side, tokens, basis, who));

const NAMES: readonly SettingName[] = [
  'backend',
  'dynamo_version',
  'chat_processor',
  'router_mode',
  'router_uses_events',
  'router_replica_sync',
  'frontend_replicas',
  'publishes_kv_events',
  'prefix_caching',
  'hash_seed',
  'hash_algorithm',
  'lora_adapters',
  'attention_kinds',
  'gpu_memory_utilization',
  'model',
];
const setting = fc
  .record({
    side: fc.constantFrom<Side>('frontend', 'worker'),
    name: fc.constantFrom(...NAMES),
    value: text,
    isDefault: fc.boolean(),
    who: fc.constantFrom('', 'a', 'b'),
  })
  .map(({ side, name, value, ...rest }) => settingOf(side, name, value, rest));

const tally = fc
  .record({
    signal: fc.constantFrom(...SIGNALS),
    count: fc.nat(5_000),
    values: counts,
    byWorker: counts,
    rate: fc.array(fc.nat(9), { maxLength: 12 }),
  })
  .map(({ signal, count, values, byWorker, rate }) =>
    tallyOf(signal, count, { values, byWorker, rate: { startMs: 0, bucketMs: 60_000, counts: rate } }),
  );

const log = fc
  .record({
    name: fc.constantFrom('frontend.log', 'worker.log'),
    tallies: fc.array(tally, { maxLength: 4 }),
    reported: number,
    withoutCache: number,
    tree: fc.option(number, { nil: undefined }),
    hasDecisions: fc.boolean(),
    lastMs: fc.constantFrom(0, 600_000),
  })
  .map(({ name, tallies, reported, withoutCache, tree, hasDecisions, lastMs }) =>
    logOf(tallies, {
      name,
      firstMs: 0,
      lastMs,
      decisions: hasDecisions
        ? decisionsOf({ count: reported, reporting: reported, withoutCache, largestTreeSize: tree })
        : undefined,
    }),
  );

const page = fc.oneof(
  fc
    .record(
      {
        size: number,
        hitRate: fc.constantFrom(0, 0.001, 0.03, 0.5, 1),
        decisions: number,
        cachedTokens: number,
        stored: number,
        parentMissing: number,
        removed: number,
        removeMissing: number,
      },
      { requiredKeys: [] },
    )
    .map((numbers) => frontendPage(numbers).metrics ?? []),
  fc.tuple(number, number, number).map((numbers) => workerPage(...numbers).metrics ?? []),
);

const finding = fc
  .record({ rule: fc.constantFrom(...RULES), severity: fc.constantFrom('error', 'warning', 'note' as const) })
  .map(({ rule, severity }) => findingOf(rule.id, { severity: severity as 'error' }));

const fleet = fc
  .record({ state: text, gateOpen: fc.boolean(), sizes: fc.array(number, { maxLength: 3 }) })
  .map(
    ({ state, gateOpen, sizes }): FleetSighting => ({
      group: 'g',
      state,
      gateOpen,
      tokensPerBlock: sizes[0],
      routingMode: gateOpen ? 'exact' : 'load_only',
      reasons: ['why'],
      members: sizes.map((tokensPerBlock, index) => ({
        worker: `w${index}`,
        state,
        reason: '',
        tokensPerBlock,
        declaredTokensPerBlock: sizes[1],
      })),
      origin: { place: 'http://aggregator', text: '' },
    }),
  );

const anyEvidence: fc.Arbitrary<Evidence> = fc
  .record({
    sizes: fc.array(size, { maxLength: 5 }),
    settings: fc.array(setting, { maxLength: 8 }),
    logs: fc.array(log, { maxLength: 3 }),
    pages: fc.array(page, { maxLength: 3 }),
    findings: fc.array(finding, { maxLength: 3 }),
    fleets: fc.array(fleet, { maxLength: 2 }),
  })
  .map(({ pages, ...rest }) => joined({ ...rest, metrics: pages.flat() }));

const anyMemory = fc.array(
  fc
    .record({
      capacityTokens: fc.option(number, { nil: undefined }),
      demandTokens: fc.option(number, { nil: undefined }),
    })
    .map(memoryOf),
  { maxLength: 2 },
);

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
      { numRuns: 400 },
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
      { numRuns: 300 },
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
    expect(adviceFor(32)).toBe('Start a with a block size of 32 tokens, which all engines can take.');
    expect(adviceFor(1_056)).toBe('Serve b under another model name: no block size fits all.');
  });
});
