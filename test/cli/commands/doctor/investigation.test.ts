import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { CliProcess } from '../../../support/cli-process.js';
import { OpenThings } from '../../../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

const CASE = fileURLToPath(new URL('../../../fixtures/doctor/investigation', import.meta.url));
const LOGS = ['--logs', join(CASE, 'frontend.log')];
const MANIFESTS = ['--manifests', join(CASE, 'deploy')];
const MEMORY = ['--gpu-memory', join(CASE, 'nvidia-smi.csv'), '--model-config', join(CASE, 'config.json')];
const WORKER = ['--logs', join(CASE, 'worker-0.log')];

interface Check {
  readonly id: string;
  readonly answer: string | null;
  readonly missing: string | null;
}

interface Change {
  readonly says: string;
  readonly why: string;
  readonly disturbs: string;
  readonly commands: readonly string[];
}

interface Report {
  readonly headline: string;
  readonly advice: string;
  readonly checks: readonly Check[];
  readonly options: readonly Change[];
  readonly assessments: readonly {
    readonly cause: string;
    readonly fixes: readonly Change[];
  }[];
}

function temporaryFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'kv-accord-doctor-'));
  open.add(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function reportOf(...args: readonly string[]): Promise<Report> {
  const cli = new CliProcess(['doctor', ...args, '--json']);
  open.add(() => cli.stop());
  await cli.ended;
  return JSON.parse(cli.stdout.text) as Report;
}

/** What the report says of one question. */
function replyOf({ checks }: Report, id: string): string {
  const check = checks.find((one) => one.id === id);
  if (check === undefined) throw new Error(`no question ${id}`);
  return check.answer ?? `missing: ${check.missing}`;
}

/** Each task of the investigation, with the questions that it asks and what of the answer has to be seen. */
const TASKS: readonly (readonly [task: string, id: string, answer: RegExp])[] = [
  ['1: block size on the engine side', 'engine_block_size', /TrtllmWorker 32 (?:by default|in use)/],
  ['1: block size that the router assumes', 'router_block_size', /Frontend\) 16 by default/],
  ['1: memory of the KV cache', 'kv_memory_setting', /^0\.85/],
  [
    "1: the router's TTL, tree size and sync",
    'router_index_settings',
    /time-to-live \(not set\).*largest tree \(not set\).*synchronisation.*off/,
  ],
  ['1: prefix caching and reuse', 'prefix_caching', /true by default/],
  ['1: the model and its footprint', 'model_footprint', /Llama-3\.3-70B-Instruct: 32\.9 GiB on each GPU/],
  ['1: memory of the GPUs', 'gpu_memory', /^90\.7 % of 79\.6 GiB, over 8 GPUs\.$/],
  [
    '2: how stores and evictions are sent',
    'event_transport',
    /^Pushed by workers as it happens, never polled.*ZMQ from 1\.6 on; before, NATS with discovery by etcd.*DYN_EVENT_PLANE/,
  ],
  [
    '2: backlog',
    'event_backlog',
    /^No line of a gap or a lost event in 15 lines.*--metrics http:\/\/FRONTEND:8000\/metrics/,
  ],
  [
    '2: latency',
    'event_latency',
    /missing: No program of Dynamo or an engine reports it.*kv_event_lag_seconds/,
  ],
  [
    '2: evictions against stores',
    'eviction_rate',
    /2 of removals \(13\.8 a minute\) against 3 of stores \(20\.7 a minute\); removals do not outnumber/,
  ],
  [
    '2: mismatch of size or hash',
    'hash_agreement',
    /Block sizes differ: 16 \(frontend\) and 32 \(worker\); the router found 0\.0 %/,
  ],
  ['3: KV budget of a GPU', 'kv_budget', /39\.8 GiB on each GPU/],
  ['3: capacity in blocks and tokens', 'kv_capacity', /16,29\d blocks, 521,3\d\d tokens/],
  [
    '3: real concurrency and mean length',
    'real_load',
    /^By the router's own sums \(logit\) a chosen worker had 202 blocks at most.*at most 6,464 tokens of 32 a block, 1\.2 % of its cache.*how many run and how long they are.*--metrics/,
  ],
  [
    '3: batch against the cache',
    'batch_size',
    /^Yes: 64 sequences at their longest need 402 % of the cache; half of the cache is free at 7\. So much was not routed: .*202 blocks/,
  ],
  [
    '4: eviction policy',
    'eviction_policy',
    /TensorRT-LLM drops blocks of low priority first.*kv_cache_retention_config.*Nothing of it was seen to be set/,
  ],
  [
    '4: less pressure, more memory, host cache, ranked',
    'memory_options',
    /1\) .*--max-batch-size 7.*2\) .*free_gpu_memory_fraction.*3\) .*host_cache_size/,
  ],
  [
    '4: low concurrency',
    'low_concurrency_test',
    /missing: It has to be tried: .*Send one or two requests at a time.*Send two equal prompts/,
  ],
];

describe('the investigation, question by question', () => {
  it('answers every task, or says which input is missing and how to give it', async () => {
    const report = await reportOf(...LOGS, ...MANIFESTS, ...MEMORY);
    for (const [task, id, answer] of TASKS) expect(replyOf(report, id), task).toMatch(answer);
    expect(report.checks.map(({ id }) => id).sort()).toEqual(TASKS.map(([, id]) => id).sort());
    for (const { answer, missing } of report.checks)
      expect([answer, missing].filter((text) => text !== null)).toHaveLength(1);
  });

  it('names in its headline the numbers, and in its advice the one that changes something', async () => {
    const report = await reportOf(...LOGS, ...MANIFESTS, ...MEMORY);
    expect(report.headline).toMatch(/\b16\b.*\b32\b/);
    expect(report.advice).toBe('Set DYN_KV_CACHE_BLOCK_SIZE=32 on the frontend.');
  });

  it('ranks less batch, more memory and a host cache beside the mismatch, with what each brings', async () => {
    const { options, assessments } = await reportOf(...LOGS, ...MANIFESTS, ...MEMORY);
    expect(assessments[0]?.cause).toBe('block_size_mismatch');
    expect(options.map(({ says }) => says)).toEqual([
      'Start each dynamo.trtllm worker with --max-batch-size 7 (now 64)',
      expect.stringMatching(/free_gpu_memory_fraction: 0\.95.*\(now 0\.85\)/),
      expect.stringMatching(/host_cache_size/),
    ]);
    expect(options[1]?.why).toMatch(/need 360 % of it in place of 402 %/);
  });

  it('says of each question what is missing where only the ten lines of the log are given', async () => {
    const { checks } = await reportOf(...LOGS);
    for (const { id, answer, missing } of checks.filter(({ answer: text }) => text === null)) {
      expect(answer).toBeNull();
      // The input by its flag, or why no input helps.
      expect(missing, id).toMatch(
        /--(?:logs|metrics|manifests|gpu-memory|model-config)|the (?:log|metrics|manifests)|its (?:manifests|log)|No program of Dynamo or an engine reports|has to be tried/,
      );
    }
  });

  it('changes nothing, and says of each change what it restarts', async () => {
    const { assessments, options } = await reportOf(...LOGS, ...MANIFESTS, ...MEMORY);
    const changes = [...assessments.flatMap(({ fixes }) => fixes), ...options];
    expect(changes.length).toBeGreaterThan(5);
    for (const { says, disturbs, commands } of changes) {
      expect(disturbs, says).toMatch(/^(?:nothing|[a-z_]+)$/);
      // What applies something is left to the operator.
      for (const command of commands)
        expect(command, says).not.toMatch(
          /kubectl (?:apply|delete|rollout|scale|edit|patch|set)|helm (?:up|in)/,
        );
    }
  });

  it('reads the memory of GPUs from DCGM as from nvidia-smi, on a page or in a file', async () => {
    const smi = replyOf(await reportOf(...LOGS, ...MANIFESTS, ...MEMORY), 'kv_capacity');
    const dcgm = join(CASE, 'dcgm.txt');
    const model = ['--model-config', join(CASE, 'config.json')];
    for (const source of [
      ['--metrics', dcgm],
      ['--gpu-memory', dcgm],
    ]) {
      const report = await reportOf(...LOGS, ...MANIFESTS, ...model, ...source);
      expect(replyOf(report, 'gpu_memory')).toBe('90.7 % of 79.6 GiB, over 8 GPUs.');
      expect(replyOf(report, 'kv_capacity')).toBe(smi);
    }
  });

  it("reads real concurrency, eviction and the event buffer from a worker's log", async () => {
    const report = await reportOf(...LOGS, ...MANIFESTS, '--logs', join(CASE, 'worker-1.log'));
    expect(replyOf(report, 'real_load')).toMatch(/^5 running on the mean/);
    expect(replyOf(report, 'eviction_policy')).toMatch(
      /Set here: host cache in bytes 34359738368, lowest priority that the host cache takes 35/,
    );
    expect(replyOf(report, 'engine_block_size')).toMatch(/32 in use/);
    expect(replyOf(report, 'kv_capacity')).toMatch(
      /15,010 blocks of 32 tokens, 480,320 tokens where all layers/,
    );
  });

  it("reads the same from the engine's file, and how full its event buffer is from the page of its worker", async () => {
    const report = await reportOf(
      ...[...LOGS, ...MANIFESTS, '--engine-config', join(CASE, 'engine.yaml')],
      ...['--metrics', join(CASE, 'worker-metrics.txt')],
    );
    expect(replyOf(report, 'eviction_policy')).toMatch(/Set here: host cache in bytes 34359738368/);
    expect(replyOf(report, 'event_backlog')).toMatch(
      /^None seen: 0 events dropped by publishers, 43 events in the engine's buffer on the mean when it is emptied \(room for 1024\)/,
    );
    expect(replyOf(report, 'real_load')).toMatch(/^5 running when it was measured/);
  });

  it('names the weights of the model also where an engine reports its capacity by itself', async () => {
    const report = await reportOf(...LOGS, ...MANIFESTS, ...MEMORY, '--logs', join(CASE, 'worker-1.log'));
    expect(replyOf(report, 'model_footprint')).toMatch(
      /Llama-3\.3-70B-Instruct: (?:131\.4 GiB in all, )?32\.9 GiB on each (?:of 4 GPUs|GPU)/,
    );
    expect(report.checks.filter(({ answer }) => answer === null).map(({ id }) => id)).toEqual([
      'event_latency',
      'low_concurrency_test',
    ]);
  });

  it("names the router's settings and its transport where the deployment sets them", async () => {
    const report = await reportOf(...LOGS, '--manifests', join(CASE, 'deploy-set'));
    expect(replyOf(report, 'router_index_settings')).toMatch(
      /time-to-live \(120\) and a largest tree \(1048576\).*synchronisation between frontends true; a tree that is full is pruned to 0\.8 of its size; snapshot threshold 1000000/,
    );
    expect(replyOf(report, 'event_transport')).toMatch(/^Pushed by nats/);
  });

  it('sees a test with one request at a time in the logs of that time', async () => {
    const report = await reportOf(
      ...['--logs', join(CASE, 'one-at-a-time.log'), '--logs', join(CASE, 'one-at-a-time-worker.log')],
    );
    expect(replyOf(report, 'low_concurrency_test')).toBe(
      'No: with 1 running the router found 0.0 % in 6 decisions.',
    );
  });

  it("reads the latency of events from kv-accord's own page", async () => {
    const page = join(temporaryFolder(), 'metrics.txt');
    writeFileSync(
      page,
      'kv_accord_build_info{version="1"} 1\nkv_accord_kv_event_lag_seconds_sum 0.5\nkv_accord_kv_event_lag_seconds_count 200\n',
    );
    const report = await reportOf(...LOGS, '--metrics', page);
    expect(replyOf(report, 'event_latency')).toMatch(/^2\.5 ms on the mean of 200 batches/);
  });

  it('reads transport, load and length where a log or a page has them', async () => {
    const fixtures = fileURLToPath(new URL('../../../fixtures', import.meta.url));
    const report = await reportOf(
      ...['--logs', join(fixtures, 'doctor-logs/dynamo-1.6.1.frontend-log.agree-32-32.txt')],
      ...['--metrics', join(fixtures, 'doctor-metrics/dynamo-1.6.1.frontend.agree-32-32.txt')],
      ...WORKER,
    );
    expect(replyOf(report, 'event_transport')).toMatch(/ZMQ, from each worker/);
    expect(replyOf(report, 'real_load')).toMatch(/tokens each on the mean/);
    expect(replyOf(report, 'eviction_rate')).toMatch(/removals against \d+ stores/);
    expect(replyOf(report, 'event_backlog')).toMatch(/^None seen/);
  });
});
