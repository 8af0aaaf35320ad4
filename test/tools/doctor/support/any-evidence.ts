import fc from 'fast-check';
import type { SettingName, Side, SizeBasis } from '../../../../src/engines/diagnosis/sighting-words.js';
import { SIGNALS } from '../../../../src/engines/diagnosis/signals.js';
import type { Evidence, FleetSighting } from '../../../../src/tools/doctor/evidence.js';
import type { MemoryArithmetic } from '../../../../src/tools/doctor/memory/memory-arithmetic.js';
import { RULES } from '../../../../src/tools/manifests/lint/rules.js';
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
} from './evidence.js';

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

/** Any evidence, sensible or not. */
export const anyEvidence: fc.Arbitrary<Evidence> = fc
  .record({
    sizes: fc.array(size, { maxLength: 5 }),
    settings: fc.array(setting, { maxLength: 8 }),
    logs: fc.array(log, { maxLength: 3 }),
    pages: fc.array(page, { maxLength: 3 }),
    findings: fc.array(finding, { maxLength: 3 }),
    fleets: fc.array(fleet, { maxLength: 2 }),
  })
  .map(({ pages, ...rest }) => joined({ ...rest, metrics: pages.flat() }));

/** Any arithmetic of memory. */
export const anyMemory: fc.Arbitrary<MemoryArithmetic[]> = fc.array(
  fc
    .record({
      capacityTokens: fc.option(number, { nil: undefined }),
      demandTokens: fc.option(number, { nil: undefined }),
    })
    .map(memoryOf),
  { maxLength: 2 },
);
