import type { Diagnosis } from '../../../../src/tools/doctor/diagnosis.js';
import { type Evidence, joinEvidence } from '../../../../src/tools/doctor/evidence.js';
import type { LogSummary, RateSeries, SignalTally } from '../../../../src/tools/doctor/logs/log-summary.js';
import type { ReportOptions } from '../../../../src/tools/doctor/report/report-options.js';

const START_MS = Date.UTC(2026, 1, 16, 14, 30);
const BUCKET_MS = 10_000;

/** What the reports of the tests are written with. */
export function reportOptions(changes: Partial<ReportOptions> = {}): ReportOptions {
  return {
    format: 'text',
    isVerbose: false,
    isColoured: false,
    columns: 100,
    version: '0.1.0',
    generatedAtMs: Date.UTC(2026, 1, 16, 15, 0),
    ...changes,
  };
}

const MANIFEST_BEFORE = `kind: DynamoGraphDeployment
spec:
  services:
    Frontend:
      envs:
        - name: DYN_ROUTER_MODE
          value: kv
        - name: ADMIN_PASSWORD
          value: correct-horse
      replicas: 1
`;

const MANIFEST_AFTER = MANIFEST_BEFORE.replace(
  '      replicas: 1\n',
  '        - name: DYN_KV_CACHE_BLOCK_SIZE\n          value: "32"\n      replicas: 1\n',
);

/** A frontend of 16 tokens before two TensorRT-LLM workers of 32, and a cache that is short besides. */
export function mismatch(): Diagnosis {
  const dropped = {
    place: 'worker-0.log:1204',
    text: 'WARN Block not published. Block size must be 16 tokens to be published. Block size is: 32',
  };
  return {
    verdict: 'findings',
    headline: 'the frontend uses a block size of 16 tokens, and 2 workers use 32',
    advice: 'Set DYN_KV_CACHE_BLOCK_SIZE=32 on the frontend',
    assessments: [
      {
        cause: 'block_size_mismatch',
        confidence: 'certain',
        headline: 'the frontend uses a block size of 16 tokens, and 2 workers use 32',
        explanation:
          'The worker drops every block that has not the size of its card, and says so three times. What is left points to parents that the router has never seen.',
        cluesFor: [
          { says: 'Workers dropped blocks: they must have 16 tokens, and have 32.', origin: dropped },
          {
            says: 'The router did not find the parent of 3,120 blocks, and had nothing to remove 2,871 times.',
            origin: {
              place: 'frontend.log:88',
              text: 'WARN Failed to find parent block; skipping store operation',
            },
          },
          {
            says: 'None of 1,204 decisions found a cached block, with a tree of size 0.',
            origin: { place: 'frontend.log:91', text: 'Selected worker: cached blocks: 0, tree size: 0' },
          },
          { says: 'Nothing sets a block size in deploy/graph.yaml.', origin: undefined },
        ],
        cluesAgainst: [
          { says: 'The cache is short as well, which alone gives such warnings too.', origin: undefined },
        ],
        fixes: [
          {
            says: 'Set DYN_KV_CACHE_BLOCK_SIZE=32 on the frontend',
            why: 'The workers keep what they have cached.',
            disturbs: 'frontend',
            files: [{ file: 'deploy/graph.yaml', before: MANIFEST_BEFORE, after: MANIFEST_AFTER }],
            commands: ['kubectl apply -f deploy/graph.yaml'],
            verify: ['kubectl logs frontend | grep "cached blocks": more than 0 from the second turn on'],
          },
          {
            says: 'Set --kv-block-size 16 on the workers',
            why: 'TensorRT-LLM takes a block size of 16 too, but every worker begins with an empty cache.',
            disturbs: 'all_workers',
            files: [],
            commands: ['kubectl rollout restart deployment/worker'],
            verify: ['kv-accord doctor --kube inference'],
          },
        ],
      },
      {
        cause: 'cache_churn',
        confidence: 'possible',
        headline: 'an idle prefix stays 41 seconds',
        explanation: 'Running sequences take most of the cache.',
        cluesFor: [],
        cluesAgainst: [],
        fixes: [
          {
            says: 'Lower max_num_seqs to 48',
            why: 'Half of the cache is left for prefixes.',
            disturbs: 'one_worker_at_a_time',
            files: [
              { file: '../engine/config.yaml', before: 'max_num_seqs: 256\n', after: 'max_num_seqs: 48\n' },
            ],
            commands: [],
            verify: [],
          },
        ],
      },
    ],
    options: [],
    checks: [],
    unknowns: [
      'How many tokens engines really had cached: their /metrics was not given (--metrics URL).',
      'How many follow-ups there are: no log reports conversations.',
    ],
    routing: {
      decisions: 1_204,
      decisionsByWorker: new Map([
        ['7702713015953616', 644],
        ['4467334888485367', 560],
      ]),
      routerHitRate: 0,
      engineHitRate: 0.034,
      firstTokenSeconds: { cold: 0.81, warm: 0.79 },
    },
    memory: [
      {
        who: 'worker-0',
        bytesPerToken: 81_920,
        bytesUnknown: undefined,
        bytesPerBlock: 2_621_440,
        budgetBytes: 25_769_803_776,
        capacityTokens: 314_560,
        demandTokens: 524_288,
        retentionSeconds: 41,
        largestBatch: 48,
        isOverAllGpus: false,
        capacityUnknown: undefined,
        steps: [
          {
            says: 'Bytes of one token on one GPU',
            expression: '2 x 80 layers x 8 KV heads / 4 GPUs x 128 x 2 bytes',
            value: 81_920,
            unit: 'bytes',
            origins: [{ place: 'config.json', text: '"num_hidden_layers": 80' }],
          },
          {
            says: 'Tokens that fit',
            expression: '25,769,803,776 / 81,920',
            value: 314_572,
            unit: 'tokens',
            origins: [],
          },
        ],
      },
    ],
  };
}

/** What `mismatch` is made from. */
export function mismatchEvidence(): Evidence {
  const origin = { place: 'deploy/graph.yaml:5:7', text: 'envs:' };
  return joinEvidence([
    {
      source: { kind: 'log', name: 'frontend.log', status: 'read', detail: '12,004 lines of Dynamo' },
      logs: [frontendLog()],
      sizes: [{ side: 'frontend', who: 'Frontend', tokensPerBlock: 16, basis: 'default', origin }],
    },
    {
      source: { kind: 'log', name: 'worker-0.log', status: 'read', detail: '4,120 lines of Dynamo' },
      sizes: ['worker-0', 'worker-1'].map((who) => ({
        side: 'worker',
        who,
        tokensPerBlock: 32,
        basis: 'observed',
        origin: { place: `${who}.log:1204`, text: 'Block size is: 32' },
      })),
    },
    {
      source: { kind: 'manifests', name: 'deploy/', status: 'read', detail: '1 file' },
      settings: [
        { side: 'frontend', who: 'Frontend', name: 'router_mode', value: 'kv', isDefault: false, origin },
        {
          side: 'worker',
          who: 'worker-0',
          name: 'max_num_seqs',
          value: '256',
          isDefault: true,
          origin: { place: 'engine.yaml', text: '' },
        },
      ],
      manifests: [{ file: 'deploy/graph.yaml', text: MANIFEST_BEFORE }],
      findings: [
        {
          ruleId: 'block-size-unset',
          severity: 'error',
          file: 'deploy/graph.yaml',
          line: 5,
          column: 7,
          message: 'no block size',
          consequence: 'nothing is found',
          advice: 'set it',
          fix: {
            says: 'Set it',
            file: 'deploy/graph.yaml',
            edits: [{ start: 0, end: 0, text: 'secret-of-an-edit' }],
          },
        },
      ],
    },
    {
      source: {
        kind: 'metrics',
        name: 'http://user:hunter2@frontend:8000/metrics',
        status: 'not_read',
        detail: 'connection refused',
      },
    },
    {
      source: { kind: 'gpu', name: 'nvidia-smi', status: 'read', detail: '1 GPU' },
      gpus: [
        {
          who: 'worker-0',
          index: 0,
          product: 'NVIDIA H100 80GB HBM3',
          totalBytes: 85_899_345_920,
          usedBytes: 75_161_927_680,
          origin: { place: 'nvidia-smi', text: '' },
        },
      ],
    },
  ]);
}

/** A rate out of its counts. */
function rate(counts: readonly number[]): RateSeries {
  return { startMs: START_MS, bucketMs: BUCKET_MS, counts };
}

function frontendLog(): LogSummary {
  const shape = Array.from({ length: 60 }, (_, at) => Math.round(52 + 40 * Math.sin(at / 5) + (at % 7)));
  const signal = (name: SignalTally['signal'], scale: number): [SignalTally['signal'], SignalTally] => {
    const counts = shape.map((count) => Math.round(count * scale));
    return [
      name,
      {
        signal: name,
        count: counts.reduce((sum, count) => sum + count, 0),
        rate: rate(counts),
        byWorker: new Map([['7702713015953616', 7]]),
        first: { place: 'frontend.log:88', text: 'WARN' },
        values: new Map(),
      },
    ];
  };
  const decided = Array.from({ length: 60 }, (_, at) => 18 + (at % 5));
  return {
    name: 'frontend.log',
    bytes: 1_204_000,
    lines: 12_004,
    isWhole: true,
    unreadableLines: 0,
    cutLines: 0,
    notes: [],
    programs: new Map([['dynamo', 1_000]]),
    firstMs: START_MS,
    lastMs: START_MS + 60 * BUCKET_MS,
    signals: new Map([signal('parent_block_not_found', 1), signal('block_to_remove_not_found', 0.9)]),
    decisions: {
      count: 1_204,
      reporting: 1_204,
      withoutCache: 1_204,
      cachedBlocks: 0,
      largestTreeSize: 0,
      loadBlocks: undefined,
      byWorker: new Map([
        ['7702713015953616', 644],
        ['4467334888485367', 560],
      ]),
      foundByWorker: new Map(),
      rate: rate(decided),
      cachedRate: rate(decided.map(() => 0)),
      foundRate: rate(decided.map(() => 0)),
      first: { place: 'frontend.log:91', text: '' },
      last: { place: 'frontend.log:12001', text: '' },
      prompts: 0,
      promptTokens: 0,
      engineCachedTokens: 0,
      promptRate: rate([]),
      engineCachedRate: rate([]),
      firstTokenMs: { cold: undefined, warm: undefined },
    },
    costs: undefined,
    engine: undefined,
    sizes: [],
    settings: [],
  };
}

/** Nothing wrong. */
export function healthy(): Diagnosis {
  return {
    verdict: 'healthy',
    headline: 'frontend and 2 workers use a block size of 32 tokens, and the router finds what engines have',
    advice: 'Nothing has to be done',
    assessments: [],
    options: [],
    checks: [],
    unknowns: [],
    routing: undefined,
    memory: [],
  };
}
