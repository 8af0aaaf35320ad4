import { describe, expect, it } from 'vitest';
import { ALL_CAUSES } from '../../../src/tools/doctor/causes/all-causes.js';
import { diagnose } from '../../../src/tools/doctor/diagnose.js';
import { CAUSES, type CauseId, type Confidence } from '../../../src/tools/doctor/diagnosis.js';
import type { Evidence } from '../../../src/tools/doctor/evidence.js';
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
  sureOf,
  tallyOf,
  tokensOf,
  workerPage,
} from './support/evidence.js';

const blind = { hitRate: 0, cachedTokens: 128_000 };

it('has one cause for each name of the closed list', () => {
  expect(ALL_CAUSES.map(({ id }) => id)).toEqual(CAUSES);
});

it('takes what a live fleet says of its pairs, with the field', () => {
  const fleet = {
    group: 'tiny',
    state: 'conflict',
    gateOpen: false,
    tokensPerBlock: 32,
    routingMode: 'closed',
    reasons: [
      'No prefill worker of "tiny" can hand its KV blocks to a decode worker; the gate stays shut.\n  dtype: bfloat16 (prefill-0 (10.0.0.1:50061)) against float16 (decode-0), from GET http://10.0.0.1:8000/server_info',
    ],
    members: [],
    origin: { place: 'http://aggregator:9400', text: '' },
  };
  const [first] = diagnose(joined({ fleets: [fleet] })).assessments;
  expect(`${first?.cause} ${first?.confidence}`).toBe('pair_incompatible certain');
  expect(first?.headline).toMatch(
    /dtype: bfloat16 \(prefill-0 \(10\.0\.0\.1:50061\)\) against float16 \(decode-0\)$/,
  );
  const missing = { ...fleet, reasons: ['decode: no worker has reported'] };
  expect(sureOf(joined({ fleets: [missing] }), 'role_missing')).toBe('certain');
});

describe.each<{
  readonly cause: CauseId;
  readonly steps: readonly (readonly [name: string, evidence: Evidence, sure: Confidence | undefined])[];
}>([
  {
    cause: 'block_size_mismatch',
    steps: [
      [
        'a warning of a missing parent alone',
        joined({ logs: [logOf([tallyOf('parent_block_not_found', 3)])] }),
        'possible',
      ],
      [
        'stores without parents, and not one of them left a block',
        joined({
          logs: [
            logOf([tallyOf('parent_block_not_found', 12)], {
              decisions: decisionsOf({ largestTreeSize: 0 }),
            }),
          ],
        }),
        'likely',
      ],
      [
        'stores without parents, and a tree that has some',
        joined({
          logs: [
            logOf([tallyOf('parent_block_not_found', 12)], {
              decisions: decisionsOf({ largestTreeSize: 9 }),
            }),
          ],
        }),
        'possible',
      ],
      [
        'stores that have neither parents nor blocks',
        joined({
          logs: [logOf([tallyOf('parent_block_not_found', 12, { values: new Map([['num_blocks=0', 12]]) })])],
        }),
        'likely',
      ],
      [
        'stores without parents of which some have blocks',
        joined({
          logs: [logOf([tallyOf('parent_block_not_found', 20, { values: new Map([['num_blocks=0', 12]]) })])],
        }),
        'possible',
      ],
      [
        'defaults that differ, and nothing seen to be wrong',
        joined({ sizes: [sizeOf('frontend', 16, 'default'), sizeOf('worker', 32, 'default')] }),
        'possible',
      ],
      [
        'defaults that differ, and an empty tree',
        joined({
          sizes: [sizeOf('frontend', 16, 'default'), sizeOf('worker', 32, 'default')],
          logs: [
            logOf([], { decisions: decisionsOf({ reporting: 1, withoutCache: 1, largestTreeSize: 0 }) }),
          ],
        }),
        'likely',
      ],
      [
        'the warning with both numbers',
        joined({
          logs: [logOf([tallyOf('block_not_published', 3, { values: new Map([['16 -> 32', 3]]) })])],
        }),
        'certain',
      ],
      ["kv-accord's own message", joined({ logs: [logOf([tallyOf('accord_mismatch', 1)])] }), 'certain'],
      [
        'a frontend whose number decides by its version',
        joined({
          sizes: [sizeOf('frontend', 16, 'default'), sizeOf('worker', 32, 'configured')],
          settings: [
            settingOf('frontend', 'dynamo_version', '1.1.0'),
            settingOf('frontend', 'chat_processor', 'vllm'),
          ],
        }),
        'likely',
      ],
      [
        'numbers that agree, and warnings',
        joined(frontendPage({ size: 32, ...blind, stored: 15, parentMissing: 33 }), {
          sizes: [sizeOf('worker', 32, 'observed')],
        }),
        undefined,
      ],
      [
        'the same number in files and running',
        joined(frontendPage({ size: 32 }), { sizes: [sizeOf('worker', 32, 'in_use')] }),
        undefined,
      ],
      [
        'an empty tree alone',
        joined({ logs: [logOf([], { decisions: decisionsOf({ largestTreeSize: 0 }) })] }),
        undefined,
      ],
    ],
  },
  {
    cause: 'wrong_model_card',
    steps: [
      [
        'a TensorRT-LLM manifest with two numbers',
        joined({ findings: [findingOf('worker-card-differs')] }),
        'likely',
      ],
      [
        'the same where the version asks the engine, perhaps',
        joined({ findings: [findingOf('worker-card-differs', { severity: 'warning' })] }),
        'possible',
      ],
      [
        'silence, and an adapter',
        joined(frontendPage({ ...blind, stored: 48 }), {
          settings: [settingOf('worker', 'lora_adapters', 'sql')],
        }),
        undefined,
      ],
      [
        'silence, and the same number on both sides',
        joined(frontendPage({ size: 32, ...blind, stored: 48 }), {
          sizes: [sizeOf('worker', 32, 'observed')],
        }),
        undefined,
      ],
      [
        'a few stores that failed',
        joined(frontendPage({ ...blind, stored: 48, parentMissing: 5 })),
        undefined,
      ],
    ],
  },
  {
    cause: 'workers_rejected',
    steps: [
      [
        'a worker that got none of sixty requests',
        joined({
          logs: [
            logOf(
              [
                tallyOf('worker_added', 2, {
                  byWorker: new Map([
                    ['1', 1],
                    ['2', 1],
                  ]),
                }),
              ],
              {
                decisions: decisionsOf({ count: 60, byWorker: new Map([['1', 60]]) }),
              },
            ),
          ],
        }),
        'possible',
      ],
      [
        'names that cannot be compared',
        joined({
          logs: [
            logOf(
              [
                tallyOf('worker_added', 2, {
                  byWorker: new Map([
                    ['a1', 1],
                    ['b2', 1],
                  ]),
                }),
              ],
              {
                decisions: decisionsOf({ count: 60, byWorker: new Map([['1', 60]]) }),
              },
            ),
          ],
        }),
        undefined,
      ],
      [
        'the error line, before a fleet that works',
        joined(frontendPage({ hitRate: 0.8 }), { logs: [logOf([tallyOf('workers_rejected', 1)])] }),
        'certain',
      ],
    ],
  },
  {
    cause: 'hash_mismatch',
    steps: [
      [
        'two seeds, and nothing known of hits',
        joined({
          settings: [
            settingOf('worker', 'hash_seed', '0', { who: 'a' }),
            settingOf('worker', 'hash_seed', '1', { who: 'b' }),
          ],
        }),
        'possible',
      ],
      [
        'two seeds, and a blind router that hashes tokens itself',
        joined(frontendPage(blind), {
          settings: [
            settingOf('worker', 'hash_seed', '0', { who: 'a' }),
            settingOf('worker', 'hash_seed', '1', { who: 'b' }),
          ],
        }),
        'possible',
      ],
      [
        'two seeds, and hits',
        joined(frontendPage({ hitRate: 0.8 }), {
          settings: [
            settingOf('worker', 'hash_seed', '0', { who: 'a' }),
            settingOf('worker', 'hash_seed', '1', { who: 'b' }),
          ],
        }),
        undefined,
      ],
      [
        'one seed',
        joined(frontendPage(blind), {
          settings: [
            settingOf('worker', 'hash_seed', '0', { who: 'a' }),
            settingOf('worker', 'hash_seed', '0', { who: 'b' }),
          ],
        }),
        undefined,
      ],
    ],
  },
  {
    cause: 'token_mismatch',
    steps: [
      ['a line of the log', joined({ logs: [logOf([tallyOf('accord_tokens', 1)])] }), 'likely'],
      ['the same tokens', joined({ tokens: [tokensOf('a', [1, 2])] }), undefined],
      ['other tokens', joined({ tokens: [tokensOf('a', [1, 2]), tokensOf('b', [1, 3])] }), 'certain'],
      [
        'other tokens of another model',
        joined({ tokens: [tokensOf('a', [1, 2]), tokensOf('b', [1, 3], 'other')] }),
        undefined,
      ],
    ],
  },
  {
    cause: 'misread_events',
    steps: [
      ['a line of the log', joined({ logs: [logOf([tallyOf('accord_misread', 1)])] }), 'likely'],
      ['a port that may be mapped', joined({ eventSources: [misreadBy('a', 5567, 5557)] }), 'likely'],
      [
        'two that are swapped',
        joined({ eventSources: [misreadBy('a', 5567, 5557), misreadBy('b', 5557, 5567)] }),
        'certain',
      ],
    ],
  },
  {
    cause: 'events_off',
    steps: [
      ['no store in 48 requests', joined(frontendPage({ ...blind, stored: 0 })), 'likely'],
      ['no store in three requests', joined(frontendPage({ ...blind, decisions: 3, stored: 0 })), undefined],
      [
        'a setting, and a router',
        joined({
          settings: [
            settingOf('worker', 'publishes_kv_events', 'false'),
            settingOf('frontend', 'router_mode', 'kv'),
          ],
        }),
        'likely',
      ],
      [
        'a setting of an engine by itself',
        joined({ settings: [settingOf('worker', 'publishes_kv_events', 'false')] }),
        undefined,
      ],
      [
        'a setting, and a router that does not listen',
        joined({
          settings: [
            settingOf('worker', 'publishes_kv_events', 'false'),
            settingOf('frontend', 'router_uses_events', 'false'),
          ],
        }),
        undefined,
      ],
      ['an engine that says so', joined({ logs: [logOf([tallyOf('events_disabled', 1)])] }), 'likely'],
      [
        'a setting, and stores that come',
        joined(frontendPage({ hitRate: 0.8, stored: 900 }), {
          settings: [settingOf('worker', 'publishes_kv_events', 'false')],
        }),
        undefined,
      ],
      [
        'an empty tree and no warning in a whole log',
        joined({ logs: [logOf([], { decisions: decisionsOf({ largestTreeSize: 0 }) })] }),
        'possible',
      ],
      [
        'an empty tree, and warnings of stores that fail',
        joined({
          logs: [
            logOf([tallyOf('parent_block_not_found', 9)], { decisions: decisionsOf({ largestTreeSize: 0 }) }),
          ],
        }),
        undefined,
      ],
    ],
  },
  {
    cause: 'events_unreachable',
    steps: [
      ['no store in 48 requests', joined(frontendPage({ ...blind, stored: 0 })), 'possible'],
      [
        'a socket that cannot be reached',
        joined({ logs: [logOf([tallyOf('events_unreachable', 2)])] }),
        'likely',
      ],
      [
        'a socket that once was not there, and stores',
        joined(frontendPage({ hitRate: 0.8, stored: 900 }), {
          logs: [logOf([tallyOf('events_unreachable', 2)])],
        }),
        undefined,
      ],
      [
        'events that a worker emptied itself',
        joined(frontendPage({ ...blind, stored: 0 }), workerPage(19, 19)),
        undefined,
      ],
    ],
  },
  {
    cause: 'events_lost',
    steps: [
      ['gaps alone', joined({ logs: [logOf([tallyOf('events_lost', 2)])] }), 'likely'],
      [
        'dropped events that a counter reports',
        joined(
          frontendPage({ hitRate: 0.1, cachedTokens: 160_000, stored: 900, parentMissing: 90 }),
          workerPage(900, 0, 40),
        ),
        'certain',
      ],
      [
        'gaps that do no harm',
        joined(frontendPage({ hitRate: 0.8, cachedTokens: 160_000, stored: 900 }), {
          logs: [logOf([tallyOf('events_lost', 2)])],
        }),
        undefined,
      ],
      [
        'parents that lack, without any gap',
        joined(frontendPage({ hitRate: 0.5, stored: 900, parentMissing: 30 })),
        undefined,
      ],
    ],
  },
  {
    cause: 'frontend_late',
    steps: [
      [
        'some parents that lacked, and hits',
        joined(frontendPage({ hitRate: 0.5, stored: 900, parentMissing: 30 })),
        'possible',
      ],
      [
        'most parents lacking',
        joined(frontendPage({ hitRate: 0.5, stored: 9, parentMissing: 30 })),
        undefined,
      ],
      ['a log without times', joined({ logs: [logOf([tallyOf('parent_block_not_found', 30)])] }), undefined],
      [
        'warnings that ended because requests did, of a router that found nothing',
        joined({
          logs: [
            logOf(
              [
                tallyOf('parent_block_not_found', 30, {
                  rate: { startMs: 0, bucketMs: 1_000, counts: [20, 10] },
                }),
              ],
              { firstMs: 0, lastMs: 120_000, decisions: decisionsOf() },
            ),
          ],
        }),
        undefined,
      ],
    ],
  },
  {
    cause: 'cache_churn',
    steps: [
      [
        'preemptions, and engines that find little',
        joined(frontendPage({ hitRate: 0.02, cachedTokens: 4_000 }), {
          logs: [logOf([tallyOf('preemption', 9)])],
        }),
        'possible',
      ],
      [
        'preemptions, and engines that find enough',
        joined(frontendPage({ hitRate: 0.5, cachedTokens: 90_000 }), {
          logs: [logOf([tallyOf('preemption', 9)])],
        }),
        undefined,
      ],
      [
        'removals of few stores',
        joined(frontendPage({ hitRate: 0.02, cachedTokens: 4_000, stored: 20, removed: 20 })),
        undefined,
      ],
      [
        'a blind router before engines that reuse a little',
        joined(frontendPage({ hitRate: 0, cachedTokens: 20_000, stored: 900, removed: 880 }), {
          logs: [logOf([tallyOf('preemption', 9)])],
        }),
        'possible',
      ],
    ],
  },
  {
    cause: 'other_namespace',
    steps: [
      [
        'adapters, and a fleet that finds half of what it could',
        joined(frontendPage({ hitRate: 0.2, cachedTokens: 160_000, stored: 900 }), {
          settings: [settingOf('worker', 'lora_adapters', 'sql')],
        }),
        'possible',
      ],
      [
        'adapters that are found',
        joined(frontendPage({ hitRate: 0.8, cachedTokens: 160_000, stored: 900 }), {
          settings: [settingOf('worker', 'lora_adapters', 'sql')],
        }),
        undefined,
      ],
      [
        'no adapter',
        joined(frontendPage({ ...blind, stored: 900 }), {
          settings: [settingOf('worker', 'lora_adapters', '[]')],
        }),
        undefined,
      ],
    ],
  },
  {
    cause: 'hybrid_block_size',
    steps: [
      [
        'an engine that says so, and nothing else',
        joined({ logs: [logOf([tallyOf('block_size_changed_by_engine', 1)])] }),
        'possible',
      ],
      [
        'an engine that says so, and a blind router',
        joined(frontendPage(blind), { logs: [logOf([tallyOf('block_size_changed_by_engine', 1)])] }),
        'likely',
      ],
      [
        'a model of one kind of attention',
        joined(frontendPage(blind), { settings: [settingOf('worker', 'attention_kinds', 'full')] }),
        undefined,
      ],
    ],
  },
  {
    cause: 'unsynced_frontends',
    steps: [
      [
        'three frontends that read events',
        joined({ settings: [settingOf('frontend', 'frontend_replicas', '3')] }),
        'possible',
      ],
      [
        'three frontends that tell each other',
        joined({
          settings: [
            settingOf('frontend', 'frontend_replicas', '3'),
            settingOf('frontend', 'router_replica_sync', 'true'),
          ],
        }),
        undefined,
      ],
      ['one frontend', joined({ settings: [settingOf('frontend', 'frontend_replicas', '1')] }), undefined],
    ],
  },
  {
    cause: 'not_kv_routing',
    steps: [
      [
        'a mode that is only the default',
        joined({ settings: [settingOf('frontend', 'router_mode', 'round-robin', { isDefault: true })] }),
        'likely',
      ],
      [
        'the mode kv somewhere',
        joined({
          settings: [
            settingOf('frontend', 'router_mode', 'kv'),
            settingOf('frontend', 'router_mode', 'random'),
          ],
        }),
        undefined,
      ],
      [
        'a default in a file, and hits',
        joined(frontendPage({ hitRate: 0.8 }), {
          settings: [settingOf('frontend', 'router_mode', 'round-robin', { isDefault: true })],
        }),
        undefined,
      ],
    ],
  },
  {
    cause: 'events_ignored',
    steps: [
      [
        'two settings',
        joined({
          settings: [
            settingOf('frontend', 'router_uses_events', 'false'),
            settingOf('worker', 'publishes_kv_events', 'true'),
          ],
        }),
        'likely',
      ],
      [
        'a finding alone',
        joined({ findings: [findingOf('events-ignored', { severity: 'note' })] }),
        'possible',
      ],
      [
        'a router that guesses well',
        joined(frontendPage({ hitRate: 0.8, cachedTokens: 160_000 }), {
          settings: [
            settingOf('frontend', 'router_uses_events', 'false'),
            settingOf('worker', 'publishes_kv_events', 'true'),
          ],
        }),
        undefined,
      ],
    ],
  },
  {
    cause: 'no_shared_prefixes',
    steps: [
      [
        'neither finds anything, and nothing known of stores',
        joined(frontendPage({ hitRate: 0, decisions: 200, cachedTokens: 0 })),
        'possible',
      ],
      [
        'ninety requests, which may all be first turns',
        joined(frontendPage({ hitRate: 0, decisions: 90, cachedTokens: 0, stored: 90 })),
        undefined,
      ],
      ['engines that find', joined(frontendPage({ ...blind, stored: 900 })), undefined],
    ],
  },
])('$cause', ({ cause, steps }) => {
  it.each(steps)('%s', (_name, evidence, sure) => {
    expect(sureOf(evidence, cause)).toBe(sure);
  });
});

describe('fixes', () => {
  it('begin at the frontend where its number decides, and at the worker where the card does', () => {
    const sizes = [sizeOf('frontend', 16, 'configured'), sizeOf('worker', 32, 'observed')];
    const first = (...settings: ReturnType<typeof settingOf>[]) =>
      diagnose(joined(frontendPage({ hitRate: 0 }), { sizes, settings })).advice;
    const version = (value: string) => settingOf('frontend', 'dynamo_version', value);
    expect(first(version('1.1.0'), settingOf('frontend', 'chat_processor', 'vllm'))).toBe(
      'Set DYN_KV_CACHE_BLOCK_SIZE=32 on the frontend.',
    );
    expect(first(version('1.6.1'))).toContain('register 32');
    expect(first(version('0.9.0'), settingOf('worker', 'backend', 'trtllm'))).toContain('--kv-block-size 32');
  });

  it("change a frontend's variable in a version whose gauge shows the card only at the worker", () => {
    const { assessments } = diagnose(
      joined(frontendPage({ size: 16, ...blind }), { sizes: [sizeOf('worker', 32, 'observed')] }),
    );
    expect(assessments[0]?.fixes[0]?.disturbs).toBe('one_worker_at_a_time');
  });

  it('take the standalone router by its own variable', () => {
    const { advice } = diagnose(
      joined({ sizes: [sizeOf('router', 128, 'in_use'), sizeOf('worker', 32, 'in_use')] }),
    );
    expect(advice).toBe('Set DYN_ROUTER_BLOCK_SIZE=32 on dynamo.router.');
  });

  it("have lint's changes of files, all of one rule together", () => {
    const text = 'a: 16\nb: 16\n';
    const fix = (start: number) => ({
      says: 'Set it to 32',
      file: 'graph.yaml',
      edits: [{ start, end: start + 2, text: '32' }],
    });
    const { assessments } = diagnose(
      joined({
        manifests: [{ file: 'graph.yaml', text }],
        findings: [
          findingOf('block-size-mismatch', { fix: fix(3) }),
          findingOf('block-size-mismatch', { line: 5, fix: fix(9) }),
        ],
        sizes: [sizeOf('frontend', 16, 'configured'), sizeOf('worker', 32, 'configured')],
      }),
    );
    expect(assessments[0]?.fixes[0]).toMatchObject({
      says: 'Set it to 32 (and in 1 more place)',
      files: [{ file: 'graph.yaml', before: text, after: 'a: 32\nb: 32\n' }],
    });
  });

  it('leave a file alone that is not the one that lint saw', () => {
    const { assessments } = diagnose(
      joined({
        manifests: [{ file: 'graph.yaml', text: 'x' }],
        findings: [
          findingOf('block-size-mismatch', {
            fix: { says: 'Set it', file: 'graph.yaml', edits: [{ start: 50, end: 52, text: '32' }] },
          }),
        ],
        sizes: [sizeOf('frontend', 16, 'configured'), sizeOf('worker', 32, 'configured')],
      }),
    );
    expect(assessments[0]?.fixes[0]).toMatchObject({ files: [], commands: ['# Change it.'] });
  });

  it('take the batch that leaves room from the memory arithmetic', () => {
    const evidence = joined(frontendPage({ hitRate: 0.02, cachedTokens: 4_000 }), {
      logs: [logOf([tallyOf('preemption', 9)])],
      settings: [
        settingOf('worker', 'backend', 'trtllm'),
        settingOf('worker', 'free_gpu_memory_fraction', '0.8'),
      ],
    });
    const { assessments } = diagnose(evidence, [memoryOf({ demandTokens: 900_000, largestBatch: 12 })]);
    const lines = assessments[0]?.fixes.flatMap(({ commands }) => commands).join('\n');
    expect(lines).toContain('--max-batch-size 12');
    expect(lines).toContain('free_gpu_memory_fraction: 0.95');
  });
});

describe('pairs that are confused', () => {
  it('turns the two round where workers are configured to publish', () => {
    const evidence = joined(frontendPage({ ...blind, stored: 0 }), {
      settings: [settingOf('worker', 'publishes_kv_events', 'true')],
    });
    expect(namesOf(diagnose(evidence))).toEqual(['events_unreachable likely']);
  });

  it('names events that are off before events that do not arrive, while nothing distinguishes them', () => {
    expect(namesOf(diagnose(joined(frontendPage({ ...blind, stored: 0 }))))).toEqual([
      'events_off likely',
      'events_unreachable possible',
    ]);
  });

  it('names a fault of the prompts only where nothing else is seen', () => {
    const evidence = joined(frontendPage({ hitRate: 0, cachedTokens: 0, stored: 5_000, removed: 4_900 }), {
      logs: [logOf([tallyOf('preemption', 90)])],
    });
    expect(namesOf(diagnose(evidence))).toEqual(['cache_churn likely']);
  });

  it('takes workers that reject each other for what they are, and not for a frontend with another number', () => {
    const evidence = joined(frontendPage({ size: 32, hitRate: 0.8, cachedTokens: 160_000 }), {
      sizes: [sizeOf('worker', 32, 'in_use', 'a'), sizeOf('worker', 16, 'in_use', 'b')],
      logs: [logOf([tallyOf('workers_rejected', 1)])],
    });
    const diagnosis = diagnose(evidence);
    expect(namesOf(diagnosis)).toEqual(['workers_rejected certain']);
    expect(diagnosis.headline).toContain('block sizes of 16 and 32 tokens');
  });
});
