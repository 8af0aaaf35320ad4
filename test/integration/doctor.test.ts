import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Canary_State } from '../../src/gen/kvaccord/v1/capabilities.js';
import { CAUSES, type CauseId, type Confidence } from '../../src/tools/doctor/diagnosis.js';
import { CliProcess } from '../support/cli-process.js';
import { FakeSidecar } from '../support/fake-sidecar.js';
import { type PlayedFleet, type PlayedFleetOptions, playDynamo } from '../support/played-dynamo.js';
import { makeWireReport } from '../support/reports.js';

const FIXTURES = fileURLToPath(new URL('../fixtures/', import.meta.url));
const LOGS = join(FIXTURES, 'doctor-logs');
const METRICS = join(FIXTURES, 'doctor-metrics');

let folder: string;
const sidecars: FakeSidecar[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'doctor-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  for (const sidecar of sidecars) await sidecar.stop();
});

interface Answer {
  readonly code: number;
  readonly verdict: string;
  readonly headline: string;
  readonly causes: readonly string[];
  readonly routing: { readonly router_hit_rate: number; readonly engine_hit_rate: number } | null;
  readonly unknowns: readonly string[];
}

/** Runs the whole command. */
async function doctor(...flags: readonly string[]): Promise<Answer> {
  const run = new CliProcess(['doctor', '--json', ...flags]);
  const code = await run.ended;
  if (run.stdout.text === '') throw new Error(run.stderr.text);
  const report = JSON.parse(run.stdout.text) as Omit<Answer, 'code' | 'causes'> & {
    readonly assessments: readonly { readonly cause: CauseId; readonly confidence: Confidence }[];
  };
  const causes = report.assessments.map(({ cause, confidence }) => `${cause} ${confidence}`);
  return { ...report, code, causes };
}

let written = 0;

/** Writes a file of this test's own, and gives its path. */
function file(name: string, text: string): string {
  written += 1;
  const path = join(folder, String(written), name);
  mkdirSync(dirname(path));
  writeFileSync(path, text);
  return path;
}

type Part = 'frontend log' | 'frontend page' | 'worker logs' | 'worker pages';
const ALL: readonly Part[] = ['frontend log', 'frontend page', 'worker logs', 'worker pages'];

/** The flags that give the doctor some of what a played fleet wrote. */
function flagsOf(fleet: PlayedFleet, parts: readonly Part[] = ALL): string[] {
  const { frontendLog, frontendPage, workerLogs, workerPages } = fleet;
  const flags: string[] = [];
  if (parts.includes('frontend log')) flags.push('--logs', file('frontend.log', frontendLog));
  if (parts.includes('worker logs'))
    for (const [at, log] of workerLogs.entries()) flags.push('--logs', file(`worker-${at}.log`, log));
  if (parts.includes('frontend page')) flags.push('--metrics', file('frontend.txt', frontendPage));
  if (parts.includes('worker pages'))
    for (const [at, page] of workerPages.entries()) flags.push('--metrics', file(`worker-${at}.txt`, page));
  return flags;
}

function played(options: PlayedFleetOptions = {}, parts?: readonly Part[]): string[] {
  return flagsOf(playDynamo(options), parts);
}

function manifest(text: string): string[] {
  return ['--manifests', file('graph.yaml', text)];
}

function faulty(name: string): string[] {
  return ['--manifests', join(FIXTURES, 'manifests/faulty', name)];
}

const recordedLog = (name: string): string[] => ['--logs', join(LOGS, `dynamo-1.6.1.${name}.txt`)];
const recordedPage = (name: string): string[] => ['--metrics', join(METRICS, `dynamo-1.6.1.${name}.txt`)];

/** vLLM workers behind Dynamo's frontend. */
const graph = (frontend: string, worker: string, replicas = 1): string => `apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: graph}
spec:
  services:
    Frontend:
      componentType: frontend
      replicas: ${replicas}
      extraPodSpec:
        mainContainer:
          image: my-registry/vllm-runtime:1.6.1
          args: [${frontend}]
    Worker:
      componentType: worker
      replicas: 2
      extraPodSpec:
        mainContainer:
          image: my-registry/vllm-runtime:1.6.1
          command: [python3, -m, dynamo.vllm]
          args: [--model, m, ${worker}]
`;
const EVENTS = '--kv-events-config, \'{"enable_kv_cache_events":true}\'';

/** vLLM says of itself how full it is; as it does, every ten seconds. */
function vllmLog(usage: number, hitRate: number): string {
  return Array.from({ length: 30 }, (_, at) => {
    const time = new Date(Date.UTC(2026, 10, 21, 1, 40, at * 10)).toISOString().slice(11, 19);
    return `INFO 11-21 ${time} [loggers.py:257] Engine 000: Avg prompt throughput: 900.0 tokens/s, Avg generation throughput: 40.0 tokens/s, Running: 60 reqs, Waiting: 30 reqs, Preemptions: ${at % 3}, GPU KV cache usage: ${usage}%, Prefix cache hit rate: ${hitRate}%\n`;
  }).join('');
}

interface Case {
  /** How it came to be: played, recorded, or written. */
  readonly from: string;
  readonly flags: () => readonly string[] | Promise<readonly string[]>;
  readonly first: `${CauseId} ${Confidence}`;
}

const FAILED_CANARY =
  "no block of a prompt that this engine stored arrived: these are another engine's events (--kv-event-sources)";

const DOUBTING_ROUTER = [
  ['doubted', 1],
  ['predicted_cached_tokens_total', 6_400],
  ['reported_cached_tokens_total', 3_200],
  ['over_predicted_tokens_total', 3_200],
]
  .map(([name, value]) => `kv_accord_router_worker_${name}{worker="w-1"} ${value}\n`)
  .join('');

const CASES: readonly Case[] = [
  {
    from: 'played: publishers and router of 16 before engines of 32',
    flags: () => played({ routerTokens: 16, publisherTokens: 16 }),
    first: 'block_size_mismatch certain',
  },
  {
    from: 'the same without anything of the workers',
    flags: () => played({ routerTokens: 16, publisherTokens: 16 }, ['frontend log', 'frontend page']),
    first: 'block_size_mismatch likely',
  },
  {
    from: 'recorded: the same of Dynamo',
    flags: () => [
      ...recordedLog('frontend-log.worker-card-16-engine-32'),
      ...recordedPage('frontend.worker-card-16-engine-32'),
      ...recordedLog('worker-log.card-16-engine-32'),
    ],
    first: 'block_size_mismatch certain',
  },
  {
    from: "recorded: an operator's log of 0.9, and TensorRT-LLM without a block size",
    flags: () => [
      '--logs',
      join(LOGS, 'dynamo-0.9.frontend-log.tree-size-0.txt'),
      ...faulty('block-size-unset-trtllm.yaml'),
    ],
    first: 'block_size_mismatch likely',
  },
  {
    from: 'played: cards of 16 over engines of 32, whose events are whole',
    flags: () => played({ routerTokens: 16 }),
    first: 'wrong_model_card likely',
  },
  {
    from: 'recorded: the same of Dynamo',
    flags: () => [
      ...recordedLog('frontend-log.card-16-engine-32'),
      ...recordedPage('frontend.card-16-engine-32'),
    ],
    first: 'wrong_model_card likely',
  },
  {
    from: 'recorded: workers of 32 and of 16',
    flags: () => recordedLog('frontend-log.workers-32-and-16.rejected'),
    first: 'workers_rejected certain',
  },
  {
    from: 'written: pages of two vLLM that hash differently, and played: a router that finds nothing',
    flags: () => [
      ...['sha256', 'sha256_cbor'].flatMap((algorithm, at) => [
        '--metrics',
        file(
          `vllm-${at}.txt`,
          `vllm:cache_config_info{block_size="32",enable_prefix_caching="True",prefix_caching_hash_algo="${algorithm}"} 1.0\n`,
        ),
      ]),
      ...played({ hasOneNamespace: false }, ['frontend log']),
    ],
    first: 'hash_mismatch possible',
  },
  {
    from: 'written: the log of an aggregator whose workers make other tokens',
    flags: () => [
      '--logs',
      file(
        'aggregator.log',
        '{"level":"error","time":"2026-11-22T20:00:00.000Z","group":"tiny","code":"conflict","msg":"Workers of \\"tiny\\" disagree on the tokens of the probe \\"message\\"; the gate stays shut."}\n',
      ),
    ],
    first: 'token_mismatch likely',
  },
  {
    from: 'written: the log of a sidecar that reads the events of another engine',
    flags: () => [
      '--logs',
      file(
        'sidecar.log',
        '{"level":"warn","time":"2026-11-22T20:00:00.000Z","worker_id":"w-1","msg":"KV events of rank 0 are read at tcp://127.0.0.1:5567 (--kv-event-sources), but the engine says (GET http://127.0.0.1:8000/kv_event_sources) that it publishes rank 0 at tcp://127.0.0.1:5557: unless a port is mapped between them, these are the events of another engine."}\n',
      ),
    ],
    first: 'misread_events likely',
  },
  {
    from: 'asked: a sidecar whose canary arrived in the events of another engine',
    flags: async () => {
      const canary = {
        state: Canary_State.FAILED,
        reason: FAILED_CANARY,
        results: [],
        askedAt: undefined,
      };
      const sidecar = await FakeSidecar.start({ report: { ...makeWireReport('w-1'), canary } });
      sidecars.push(sidecar);
      return [sidecar.address];
    },
    first: 'canary_failed certain',
  },
  {
    from: 'written: the metrics of a router that doubts a worker',
    flags: () => ['--metrics', file('router.txt', DOUBTING_ROUTER)],
    first: 'results_contradict certain',
  },
  {
    from: 'written: manifests with two hash seeds, and played: a router that finds nothing',
    flags: () => [...faulty('hashes.yaml'), ...played({ hasOneNamespace: false }, ['frontend log'])],
    first: 'hash_mismatch possible',
  },
  {
    from: 'written: workers of SGLang without KV events, and played: nothing comes',
    flags: () => [
      ...faulty('kv-events-off.yaml'),
      ...played({ publishes: false }, ['frontend log', 'frontend page']),
    ],
    first: 'events_off certain',
  },
  {
    from: 'played: nothing is published, and the frontend alone is seen',
    flags: () => played({ publishes: false }, ['frontend log', 'frontend page']),
    first: 'events_off likely',
  },
  {
    from: 'written: prefix caching is off',
    flags: () => [
      ...faulty('prefix-caching-off.yaml'),
      ...played({ publishes: false, hasCommonPrefixes: false }, ['frontend page']),
    ],
    first: 'events_off certain',
  },
  {
    from: 'played: workers publish, and nothing arrives',
    flags: () => played({ isReachable: false }),
    first: 'events_unreachable certain',
  },
  {
    from: 'played: one of seven events is lost',
    flags: () => played({ losesEvery: 7, turns: 8 }),
    first: 'events_lost certain',
  },
  {
    from: 'played: one of two hundred, and the frontend alone is seen',
    flags: () => played({ losesEvery: 200, conversations: 60, turns: 8 }, ['frontend log', 'frontend page']),
    first: 'events_lost certain',
  },
  {
    from: 'played: a frontend that begins in the middle of conversations, of which new ones come',
    flags: () => played({ routerBeginsAtTurn: 2, turns: 4, generations: 5 }),
    first: 'frontend_late likely',
  },
  {
    from: 'played: one that begins among conversations that never end, before engines whose size is seen',
    flags: () => [
      ...played({ routerBeginsAtTurn: 3, turns: 12 }),
      '--metrics',
      file('vllm.txt', 'vllm:cache_config_info{block_size="32",enable_prefix_caching="True"} 1.0\n'),
    ],
    first: 'frontend_late possible',
  },
  {
    from: 'played: caches that hold a part of what comes back, and only the frontend is seen',
    flags: () => played({ blocks: 200, turns: 6, conversations: 30 }, ['frontend log', 'frontend page']),
    first: 'cache_churn possible',
  },
  {
    from: 'played: caches that hold a quarter of what comes back, and written: vLLM takes requests off its GPU',
    flags: () => [...played({ blocks: 60, turns: 6 }), '--logs', file('vllm.log', vllmLog(99.4, 0))],
    first: 'cache_churn likely',
  },
  {
    from: 'played: requests and events name an adapter differently, and written: adapters are loaded',
    flags: () => [
      ...played({ hasOneNamespace: false }),
      ...manifest(graph('--router-mode, kv', `--enable-lora, --lora-modules, sql=/models/sql, ${EVENTS}`)),
    ],
    first: 'other_namespace likely',
  },
  {
    from: 'written: vLLM realigned its blocks to 528, and played: a router of 16',
    flags: () => [
      ...played({ routerTokens: 16, engineTokens: 528, tokensPerTurn: 1_056 }),
      '--logs',
      file(
        'vllm.log',
        'INFO 11-21 01:39:00 [config.py:481] Setting attention block size to 528 tokens to ensure that attention page size is >= mamba page size.\n',
      ),
    ],
    first: 'hybrid_block_size certain',
  },
  ...(
    [
      ['vllm-0.10-publisher-thread', 'publisher_failed likely'],
      ['dynamo-1.1-batch-format', 'events_unreadable likely'],
      ['llm-d-parent-unknown', 'picker_index_incomplete likely'],
      ['llm-d-tokenizer', 'prompts_not_scored likely'],
      ['production-stack-instance-unknown', 'instance_unknown likely'],
      ['dynamo-1.2-card-size', 'model_not_added likely'],
      ['vllm-lmcache-no-room', 'offload_failed likely'],
      ['dynamo-0.3-second-model-of-64', 'block_size_mismatch certain'],
      ['sglang-page-size-differs', 'pair_incompatible certain'],
      ['vllm-nixl-no-answer', 'side_channel_unreachable likely'],
      ['vllm-nixl-port-in-use', 'side_channel_dead certain'],
      ['gateway-no-prefill', 'role_missing likely'],
      ['vllm-nixl-params-dropped', 'decode_recomputes likely'],
      ['vllm-nixl-leases-480', 'leases_expire likely'],
      ['sglang-bootstrap-timeout', 'transfers_fail likely'],
      ['vllm-nixl-ucx-over-tcp', 'transfer_slow likely'],
      ['dynamo-without-etcd', 'control_plane_unreachable likely'],
      ['vllm-connector-and-hybrid', 'settings_refused likely'],
      ['vllm-without-nixl', 'library_missing likely'],
      ['vllm-nixl-locked-memory', 'transfer_path_broken likely'],
      ['vllm-no-room-for-longest', 'cache_memory_missing likely'],
      ['vllm-nixl-connector-crashes', 'connector_crashed likely'],
      ['sglang-nccl-system-error', 'program_ended likely'],
    ] as const
  ).map(([name, first]) => ({
    from: `after a public text: ${name}`,
    flags: () => ['--logs', join(FIXTURES, 'doctor-public-logs', `${name}.txt`)],
    first,
  })),
  {
    from: 'written: three frontends that guess, each for itself',
    flags: () => manifest(graph('--router-mode, kv, --no-router-kv-events', '--block-size, "32"', 3)),
    first: 'unsynced_frontends likely',
  },
  {
    from: 'written: a frontend without a mode, and played: workers are taken in turn',
    flags: () => [
      ...manifest(graph('--http-port, "8000"', `--block-size, "32", ${EVENTS}`)),
      ...played({ routesByHits: false }, ['frontend log', 'frontend page']),
    ],
    first: 'not_kv_routing likely',
  },
  {
    from: 'written: workers publish, and the router is set to guess',
    flags: () => [...faulty('events-ignored.yaml'), ...played({ isReachable: false })],
    first: 'events_ignored likely',
  },
  {
    from: 'played: no two prompts begin alike, and the engines have the same block size as the router',
    flags: () => [
      ...played({ hasCommonPrefixes: false, conversations: 30 }),
      '--metrics',
      file('vllm.txt', 'vllm:cache_config_info{block_size="32",enable_prefix_caching="True"} 1.0\n'),
    ],
    first: 'no_shared_prefixes likely',
  },
];

describe('the whole command, before a fleet for each cause', () => {
  it.each(CASES)('$from: $first', async ({ flags, first }) => {
    const answer = await doctor(...(await flags()));
    expect(answer.causes[0]).toBe(first);
    expect(answer).toMatchObject({ code: 1, verdict: 'findings' });
  });

  it('has a case of every cause', () => {
    const named = new Set(CASES.map(({ first }) => first.split(' ')[0]));
    expect(CAUSES.filter((cause) => !named.has(cause))).toEqual([]);
  });
});

const HEALTHY: readonly { readonly name: string; readonly options: PlayedFleetOptions }[] = [
  { name: 'with room for all', options: {} },
  { name: 'with blocks of 16', options: { routerTokens: 16, engineTokens: 16 } },
  { name: 'with 64 conversations', options: { conversations: 64, turns: 8 } },
  { name: 'under churn that drops a part of what comes back', options: { blocks: 500, turns: 6 } },
  { name: 'with conversations that end and others that begin', options: { generations: 5, blocks: 1_500 } },
  {
    name: 'that got back the one event of fifty that was lost',
    options: { losesEvery: 50, recovers: true, conversations: 60, turns: 8 },
  },
];

describe('the whole command, before a healthy fleet', () => {
  for (const { name, options } of HEALTHY) {
    for (const parts of [ALL, ['frontend page'], ['frontend log']] as const) {
      it(`${name} raises no alarm over ${parts.length === ALL.length ? 'all of it' : parts[0]}`, async () => {
        const fleet = playDynamo(options);
        if ('blocks' in options) expect(fleet.truth.evicted).toBeGreaterThan(100);
        const answer = await doctor(...flagsOf(fleet, parts));
        expect(answer).toMatchObject({ code: 0, verdict: 'healthy' });
        if (parts[0] !== 'frontend log' || parts.length > 1) {
          expect(answer.routing?.router_hit_rate).toBeCloseTo(fleet.truth.routerHitRate, 6);
          expect(answer.routing?.engine_hit_rate).toBeCloseTo(fleet.truth.engineHitRate, 6);
        }
      });
    }
  }

  it('is not called so where the router finds less than half of what engines have, whatever the reason is', async () => {
    const answer = await doctor(...played({ losesEvery: 2, turns: 6 }, ['frontend page']));
    expect(answer).toMatchObject({ code: 6, verdict: 'unknown', causes: [] });
    expect(answer.unknowns[0]).toMatch(
      /^Why the router finds less than half of what engines have \(29\.6 % /,
    );
  });

  it('says of a cold start that there is not enough to tell, and finds nothing', async () => {
    for (const parts of [ALL, ['frontend page'], ['frontend log']] as const) {
      const answer = await doctor(...played({ turns: 1, conversations: 8 }, parts));
      expect(answer.causes, parts.join()).toEqual([]);
      expect(answer.verdict).not.toBe('findings');
    }
  });

  it('says nothing against a first round of many different prompts', async () => {
    for (const conversations of [10, 20, 50, 90]) {
      const answer = await doctor(...played({ turns: 1, conversations }));
      expect(answer.causes, `${conversations} conversations`).toEqual([]);
    }
  });
});
