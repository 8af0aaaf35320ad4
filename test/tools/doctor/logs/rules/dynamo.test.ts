import { describe, expect, it } from 'vitest';
import { recordedLog, settingsOf, signalsOf, sizesOf, summaryOf } from '../summaries.js';

const AT = '2026-02-16T14:38:53.950961Z';
const read = (...lines: string[]) => summaryOf(lines.map((line) => `${AT}  INFO ${line}\n`).join(''));

describe('the log of a Dynamo frontend', () => {
  it('shows that nothing was ever found: an operator report of 0.9', async () => {
    const { decisions, programs, firstMs, lastMs } = await summaryOf(
      await recordedLog('dynamo-0.9.frontend-log.tree-size-0.txt'),
    );
    expect(decisions).toMatchObject({
      count: 10,
      reporting: 10,
      withoutCache: 10,
      cachedBlocks: 0,
      largestTreeSize: 0,
      loadBlocks: { count: 10, max: 201.594, last: 146.219 },
      byWorker: new Map([
        ['7702713015953616', 5],
        ['4467334888485367', 5],
      ]),
      rate: { bucketMs: 1_000, counts: [1, 1, 2, 1, 0, 2, 1, 1, 1] },
    });
    expect(decisions?.first).toEqual({
      place: 'some.log:1',
      text: '2026-02-16T14:38:53.950961Z INFO dynamo_llm::kv_router::scheduler: Selected worker: worker_id=7702713015953616 dp_rank=0, logit: 138.656, cached blocks: 0, tree size: 0',
    });
    expect(decisions?.last.place).toBe('some.log:10');
    expect(programs).toEqual(new Map([['dynamo', 10]]));
    expect([firstMs, lastMs].map((ms) => new Date(ms ?? 0).toISOString())).toEqual([
      '2026-02-16T14:38:53.950Z',
      '2026-02-16T14:39:01.315Z',
    ]);
  });

  it.each([
    ['agree-32-32', { count: 2, reporting: 2, withoutCache: 2 }, { started: 1, worker_added: 2 }],
    ['card-16-engine-32', { count: 5, reporting: 5 }, { started: 1, worker_added: 2, worker_removed: 1 }],
    ['frontend-env-16-workers-32', { count: 3, reporting: 3 }, { started: 1, worker_added: 2 }],
  ])(
    'counts each decision of 1.6 once, though two lines tell of it: %s',
    async (name, decisions, signals) => {
      const summary = await summaryOf(await recordedLog(`dynamo-1.6.1.frontend-log.${name}.txt`));
      expect(summary.decisions).toMatchObject(decisions);
      expect(signalsOf(summary)).toEqual(signals);
      expect(settingsOf(summary)).toContain('router_mode=kv');
      expect(summary.sizes).toEqual([]);
    },
  );

  it('reports the time to the first token of prompts without cached blocks', async () => {
    const { decisions } = await summaryOf(await recordedLog('dynamo-1.6.1.frontend-log.agree-32-32.txt'));
    const { cold, warm } = decisions?.firstTokenMs ?? {};
    expect(cold?.count).toBe(2);
    expect(cold?.median).toBeGreaterThan(86);
    expect(cold?.p95).toBeLessThan(93);
    expect(warm).toBeUndefined();
  });

  it('has the parents that were not found, by worker and over time', async () => {
    const { signals } = await summaryOf(
      await recordedLog('dynamo-1.6.1.frontend-log.worker-card-16-engine-32.txt'),
    );
    const parents = signals.get('parent_block_not_found');
    expect(parents?.count).toBeGreaterThan(5);
    expect([...(parents?.byWorker.keys() ?? [])].every((worker) => /^\d{16,20}$/.test(worker))).toBe(true);
    expect(parents?.rate.counts.reduce((sum, count) => sum + count)).toBe(parents?.count);
  });

  it('names the worker that was rejected, by its instance id', async () => {
    const { signals } = await summaryOf(
      await recordedLog('dynamo-1.6.1.frontend-log.workers-32-and-16.rejected.txt'),
    );
    const rejected = signals.get('workers_rejected');
    expect(rejected?.count).toBe(1);
    expect([...(rejected?.byWorker.keys() ?? [])]).toEqual([expect.stringMatching(/^[0-9a-f]{15,16}$/)]);
    expect([...(rejected?.values.keys() ?? [])]).toEqual([
      expect.stringMatching(/^[0-9a-f]{8} -> [0-9a-f]{8}$/),
    ]);
  });

  it('says of a rolling restart who came, who went and who was rejected', async () => {
    const log = await recordedLog('dynamo-1.6.1.frontend-log.rolling-16-to-32.txt');
    const text = log.toString();
    const signals = signalsOf(await summaryOf(log));
    expect(signals).toMatchObject({
      workers_rejected: text.split('Rejected incompatible').length - 1,
      worker_added: text.split('Adding worker WorkerWithDpRank').length - 1,
      worker_removed: text.split('Removing worker WorkerWithDpRank').length - 1,
    });
  });

  it('knows the decisions of 1.1 to 1.5, with and without the cache', async () => {
    const { decisions, settings } = await read(
      'dynamo_kv_router::scheduling::selector: Selected worker: worker_type=prefill, worker_id=7 dp_rank=0, logit: 3.000, effective cached blocks: 2.50, host_pinned blocks: 0, disk blocks: 0, tree size: 5, total blocks: 900',
      'dynamo_kv_router::scheduling::selector: Selected worker: worker_type=decode, worker_id=8 dp_rank=0, logit: 3.000, host_pinned blocks: 0, disk blocks: 0',
    );
    expect(decisions).toMatchObject({ count: 1, reporting: 1, cachedBlocks: 2.5, largestTreeSize: 5 });
    expect(settings).toMatchObject([{ side: 'worker', who: '7', name: 'total_kv_blocks', value: '900' }]);
  });

  it('says when no line reports the cache', async () => {
    const { decisions } = await summaryOf(
      await recordedLog('dynamo-1.6.1.router-log.block-16-engine-32.txt'),
    );
    expect(decisions).toMatchObject({ count: 1, reporting: 0, withoutCache: 0, cachedBlocks: 0 });
  });

  it('takes decisions of other modes for what they are', async () => {
    const summary = await read('push_router: Selected worker router_mode="round_robin" worker_id=7');
    expect(summary.decisions).toBeUndefined();
    expect(settingsOf(summary)).toEqual(['router_mode=round_robin']);
  });

  it('reads debug lines: what requests would hit', async () => {
    const { decisions } = await read(
      'kv_router.select_worker: dynamo_llm::kv_router::push_router: [ROUTING] Best: worker_7 dp_rank=0 with 17/18 blocks overlap request_id=x worker_id=7 dp_rank=0 overlap_blocks=17 total_blocks=18',
    );
    expect(decisions).toMatchObject({ count: 1, reporting: 1, cachedBlocks: 17 });
    expect(
      sizesOf(await read('dynamo_llm::kv_router: [ROUTING_INPUT] request isl_tokens=64 block_size=16')),
    ).toEqual(['router 16 in_use']);
  });

  it('keeps what candidates would have cost, in all the forms of the formula', async () => {
    const { costs, decisions } = await read(
      's: Formula for worker_id=7 dp_rank=0 with 2 cached blocks: 34.375 = 1.0 * prefill_blocks + decode_blocks = 1.0 * 17.375 + 17.000',
      's: Formula for worker_id=7 dp_rank=0 with 32.00 effective cached blocks: 80.500 = prefill_load_scale * adjusted_prefill_blocks + decode_blocks = 1.000 * 24.500 + 56.000',
      'Formula for worker_1: 125.3 = 1.0 * 100.5 + 25.0 (cached_blocks: 0)',
    );
    expect(decisions).toBeUndefined();
    expect(costs).toMatchObject({
      count: 3,
      withoutCache: 1,
      largestCachedBlocks: 32,
      overlapWeights: new Map([
        ['1.0', 2],
        ['1.000', 1],
      ]),
    });
  });

  it('takes cached tokens and first tokens from the lines of requests, whichever comes first', async () => {
    const { decisions } = await read(
      'metrics: request completed request_id=aaaaaaaa-1 status=success request_id=bbbbbbbb-1 input_tokens=100 cached_tokens=64 ttft_ms="12.5"',
      'request_span: route request completed request_id=bbbbbbbb-1 request_id=aaaaaaaa-1 overlap_blocks=2 phase=Aggregated worker_id=7',
      'request_span: route request completed request_id=bbbbbbbb-1 request_id=aaaaaaaa-1 overlap_blocks=0 phase=Decode worker_id=7',
    );
    expect(decisions).toMatchObject({ count: 1, cachedBlocks: 2, promptTokens: 100, engineCachedTokens: 64 });
    expect(decisions?.firstTokenMs.warm?.count).toBe(1);
    expect(decisions?.firstTokenMs.cold).toBeUndefined();
  });

  it('reads JSON lines as it reads text', async () => {
    const { decisions, signals, programs } = await summaryOf(
      [
        '{"time":"2026-02-16T14:38:53.950961Z","level":"INFO","target":"dynamo_llm::kv_router::scheduler","message":"Selected worker: worker_id=7702713015953616 dp_rank=0, logit: 138.656, cached blocks: 3, tree size: 9"}',
        '{"time":"2026-02-16T14:38:54.950961Z","level":"WARN","target":"dynamo_kv_router::indexer::radix_tree","message":"Failed to find parent block; skipping store operation","worker_id":14890345699382878635,"dp_rank":0}',
      ].join('\n'),
    );
    expect(decisions).toMatchObject({ count: 1, cachedBlocks: 3, largestTreeSize: 9 });
    expect(signals.get('parent_block_not_found')?.byWorker).toEqual(new Map([['14890345699382878635', 1]]));
    expect(programs).toEqual(new Map([['dynamo', 2]]));
  });
});

describe('the log of a Dynamo worker or indexer', () => {
  it('has both sizes of blocks that were not published, and whose they are', async () => {
    const summary = await summaryOf(await recordedLog('dynamo-1.6.1.worker-log.card-16-engine-32.txt'));
    expect(sizesOf(summary)).toEqual(['worker 16 declared', 'worker 32 observed']);
    expect(summary.sizes.map(({ who }) => who)).toEqual(['4628188529032323627', '4628188529032323627']);
    expect(summary.signals.get('block_not_published')).toMatchObject({
      count: 3,
      values: new Map([['16 -> 32', 3]]),
      byWorker: new Map([['4628188529032323627', 3]]),
    });
    expect(signalsOf(summary)).toEqual({ started: 1, block_not_published: 3, parent_block_not_found: 12 });
    expect(settingsOf(summary)).toEqual([
      'served_model=tiny',
      'publishes_kv_events=true',
      'event_transport=ZMQ',
    ]);
  });

  it("knows an indexer's own size from what its workers publish", async () => {
    const broken = await summaryOf(await recordedLog('dynamo-1.6.1.indexer-log.block-16-engine-32.txt'));
    expect(sizesOf(broken)).toEqual(['indexer 16 configured', 'indexer 16 in_use', 'worker 32 observed']);
    expect(signalsOf(broken)).toEqual({ started: 1, block_not_published: 6, parent_block_not_found: 13 });
    const healthy = await summaryOf(await recordedLog('dynamo-1.6.1.indexer-log.block-32-engine-32.txt'));
    expect(sizesOf(healthy)).toEqual(['indexer 32 configured', 'indexer 32 in_use']);
    expect(signalsOf(healthy)).toEqual({ started: 1 });
  });

  it("keeps an indexer's pod apart from a worker's, where both come interleaved", async () => {
    const lost =
      'WARN c: Block not published. Block size must be 16 tokens to be published. Block size is: 32';
    const summary = await summaryOf(
      [
        `[pod/indexer-0/main] ${AT}  INFO i: Starting standalone KV cache indexer block_size=Some(16) port=1`,
        `[pod/indexer-0/main] ${AT}  ${lost}`,
        `[pod/worker-0/main] ${AT}  ${lost}`,
      ].join('\n'),
    );
    expect(summary.sizes.map(({ who, side, basis }) => `${who} ${side} ${basis}`)).toEqual([
      'indexer-0 indexer configured',
      'indexer-0 worker observed',
      'worker-0 worker declared',
      'worker-0 worker observed',
    ]);
  });

  it.each([
    ['r: Failed to find block to remove; skipping remove operation worker_id=7', 'block_to_remove_not_found'],
    ['d: Checksum for new worker does not match existing WorkerSet checksum.', 'workers_rejected'],
    ['r: Event ID gap detected for worker 7 dp_rank 0, recovering events [3, 9], gap_size: 7', 'events_lost'],
    ['l: Gap detected: expected seq 4, got 9', 'events_lost'],
    ['r: KV recovery failed; continuing with degraded live events', 'events_lost'],
    ['q: KV indexer rejected a recovery event; rank remains fenced worker_id=7 dp_rank=0', 'events_lost'],
    ['q: Failed to enqueue KV event error=channel closed', 'events_lost'],
    ['z: Direct-ZMQ event-channel discovery stream ended kv_state_endpoint=dynamo', 'events_unreachable'],
    ['z: Failed to decode direct-ZMQ KV payload error=invalid type publisher_id=7', 'events_unreadable'],
    ['l: Unexpected ZMQ frame count: 2 self.worker_id=7 self.dp_rank=0', 'events_unreadable'],
    ['l: Invalid sequence number length: 4 self.worker_id=7 self.dp_rank=0', 'events_unreadable'],
    ['l: Failed to decode replayed batch worker_id=7 dp_rank=0 seq=3', 'events_unreadable'],
    ['s: Dropping invalid Mooncake KV event frame error=invalid type', 'events_unreadable'],
    [
      'dynamo_llm::block_manager::kv_consolidator::subscriber: Failed to deserialize event batch: invalid type',
      'events_unreadable',
    ],
    ['p: ZMQ listener terminated unexpectedly; stopping KV event publisher', 'events_unreachable'],
    ['p: KV-event source was not observed after the discovery grace period', 'events_unreachable'],
    ['p: KV-event publishing is disabled for a role that requires KV events', 'events_disabled'],
    ['args: No kv_events_config required: prefix caching is disabled', 'events_disabled'],
  ])('has the sign in %s', async (line, signal) => {
    expect(signalsOf(await read(line))).toEqual({ [signal]: 1 });
  });

  it('does not take what was before a listener began for lost', async () => {
    const late = await read(
      'dynamo_kv_router::services::indexer::listener: Gap detected: expected seq 0, got 34 self.worker_id=1 expected=0 got=34',
      'dynamo_kv_router::services::indexer::listener: No replay endpoint configured; batches lost self.worker_id=1 gap_size=34',
    );
    expect(signalsOf(late)).toEqual({});
  });

  it('reads the sizes and settings that workers report as they start', async () => {
    const summary = await read(
      'dynamo_llm::mocker: Initializing KV event publisher with block_size 16, enable_local_indexer=true',
      'aisimulate_core::engine::kv_manager::vllm_backend: VllmKvManager initialized dp_rank=0 block_size=32',
      "main.get_engine_cache_info: Cache config values: {'num_gpu_blocks': 24064}",
      "main.get_engine_cache_info: Scheduler config values: {'max_num_seqs': 256, 'max_num_batched_tokens': 2048}",
    );
    expect(sizesOf(summary)).toEqual(['worker 16 declared', 'worker 32 in_use']);
    expect(settingsOf(summary)).toEqual(['total_kv_blocks=24064', 'max_num_seqs=256']);
  });
});

describe('what the publisher of a worker says at error level', () => {
  const signalsIn = async (text: string): Promise<readonly string[]> => [
    ...(await summaryOf(`2026-03-03T10:00:00Z ${text}\n`)).signals.keys(),
  ];

  it('is a publisher that failed, in whatever words', async () => {
    const module = 'ERROR dynamo_llm::kv_router::publisher::sinks:';
    expect(await signalsIn(`${module} Valkey rejected the write error=READONLY`)).toEqual([
      'publisher_failed',
    ]);
    expect(await signalsIn(`${module} shutting down`)).toEqual([]);
    const inJson = (level: string): string =>
      `{"time":"2026-03-03T10:00:00Z","level":"${level}","target":"dynamo_llm::kv_router::publisher::sinks","message":"Valkey rejected the write"}\n`;
    expect([...(await summaryOf(inJson('ERROR'))).signals.keys()]).toEqual(['publisher_failed']);
    expect([...(await summaryOf(inJson('INFO'))).signals.keys()]).toEqual([]);
    expect(await signalsIn('INFO dynamo_llm::kv_router::publisher::sinks: Valkey took the write')).toEqual(
      [],
    );
  });

  it('is none of metrics that go the same way', async () => {
    const line = 'WARN dynamo_llm::fpm_publisher: FPM direct publisher: event plane publish failed: closed';
    expect(await signalsIn(line)).toEqual([]);
  });

  it('is none of other programs that publish events', async () => {
    expect(await signalsIn('ERROR billing::bus: Failed to publish event: queue is full')).not.toContain(
      'publisher_failed',
    );
  });

  it('is taken back for the worker that recovered, and not for others', async () => {
    const line = (words: string, worker: number): string =>
      `2026-03-03T10:00:00Z WARN dynamo_llm::kv_router::indexer: ${words} worker_id=${worker}\n`;
    const missing = 'KV-event source was not observed after the discovery grace period';
    const text = line(missing, 7) + line(missing, 8) + line('KV-event source recovered', 7);
    const tally = (await summaryOf(text)).signals.get('events_unreachable');
    expect(tally?.count).toBe(1);
    expect(tally?.byWorker.get('8')).toBe(1);
  });
});
