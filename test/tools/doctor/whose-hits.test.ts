import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../src/tools/doctor/diagnosis.js';
import { joinEvidence } from '../../../src/tools/doctor/evidence.js';
import { metricsPart } from '../../../src/tools/doctor/gather/metrics.js';
import { summaryOf } from './logs/summaries.js';
import { frontendPage, joined, namesOf } from './support/evidence.js';

const START_MS = Date.UTC(2026, 9, 2, 10);
const at = (second: number): string => new Date(START_MS + second * 1_000).toISOString();

/** Decisions of Dynamo 1.6, one in three seconds, in turn over the workers. */
function decisions(
  from: number,
  count: number,
  cached: (index: number) => number,
  workers: readonly string[] = ['11', '22'],
): string {
  return Array.from(
    { length: count },
    (_, index) =>
      `${at(from + index * 3)}  INFO dynamo_kv_router::scheduling::selector: Selected worker router_mode="kv" request_id=7a1d${index} worker_id=${workers[index % workers.length]} worker_type=decode dp_rank=0 logit=20.0 effective_cached_blocks=${cached(index)}.0 total_kv_blocks=Some(18432)\n`,
  ).join('');
}

function missing(from: number, count: number, worker = '11', step = 3): string {
  return Array.from(
    { length: count },
    (_, index) =>
      `${at(from + index * step)}  WARN dynamo_kv_router::indexer: Failed to find parent block; skipping store operation worker_id=${worker} dp_rank=0 parent_hash=${77_000 + index}\n`,
  ).join('');
}

function completed(from: number, count: number, cached: number): string {
  return Array.from(
    { length: count },
    (_, index) =>
      `${at(from + index * 3 + 1)}  INFO http-request: request completed request_id=7a1d${index} model="m" input_tokens=4096 output_tokens=64 cached_tokens=${cached} ttft_ms=70\n`,
  ).join('');
}

const dropped = (second: number): string =>
  `${at(second)}  WARN dynamo_llm::kv_router::publisher: Block not published. Block size must be 16 tokens to be published. Block size is: 64\n`.repeat(
    3,
  );

async function ofLogs(...texts: readonly string[]): Promise<Diagnosis> {
  const logs = await Promise.all(texts.map((text) => summaryOf(text)));
  return diagnose(joined({ logs, sizes: logs.flatMap(({ sizes }) => sizes) }));
}

const half = (index: number): number => (index % 4 < 2 ? 0 : 30);
const none = (): number => 0;

describe('what was found before a fault', () => {
  it('does not make healthy a router whose hits end for good while stores lose their parents', async () => {
    const found = await ofLogs(decisions(0, 300, half) + decisions(1_000, 300, none) + missing(1_000, 300));
    expect(namesOf(found)[0]).toBe('block_size_mismatch likely');
    expect(JSON.stringify(found)).toMatch(/no cached block in 300 decisions since 2026-10-02T10:1/);
  });

  it('does not contradict a line with two sizes', async () => {
    const found = await ofLogs(decisions(0, 200, half) + decisions(1_000, 200, none), dropped(990));
    expect(namesOf(found)[0]).toBe('block_size_mismatch certain');
    const last = await ofLogs(decisions(0, 200, half), dropped(600));
    expect(namesOf(last)[0]).toBe('block_size_mismatch certain');
  });

  it('is no fault where prompts that share nothing come, or a conversation pauses', async () => {
    const unique = decisions(0, 300, half) + completed(0, 300, 900) + decisions(1_000, 300, none);
    expect((await ofLogs(unique)).verdict).toBe('healthy');
    expect((await ofLogs(unique + completed(1_000, 300, 0))).verdict).toBe('healthy');
    expect((await ofLogs(unique + missing(1_000, 8))).verdict).toBe('healthy');
    expect(
      (await ofLogs(decisions(0, 300, half) + decisions(1_000, 12, none) + missing(1_000, 12))).verdict,
    ).toBe('healthy');
  });

  it('is read in pieces of a log that was rotated, and with lines of engines whose times have no zone', async () => {
    const [before, after] = [decisions(0, 300, half), decisions(1_000, 300, none) + missing(1_000, 300)];
    expect(namesOf(await ofLogs(after, before))[0]).toBe('block_size_mismatch likely');
    const iteration =
      '[10/02/2026-10:00:01] [TRT-LLM] [I] iter = 5, num_scheduled_requests: 1, states = {}\n';
    expect(namesOf(await ofLogs(iteration + before + iteration + after))[0]).toBe(
      'block_size_mismatch likely',
    );
    // Of another router, or of other workers, no log goes on with another.
    const elsewhere = decisions(1_000, 60, none, ['33', '44']) + missing(1_000, 15, '33');
    expect(namesOf(await ofLogs(before, elsewhere))).not.toContain('block_size_mismatch likely');
    expect((await ofLogs(before, decisions(1_000, 300, half))).verdict).toBe('healthy');
  });

  it('is outranked by what is found after the line', async () => {
    const fixed = await ofLogs(
      decisions(0, 100, none) + decisions(400, 400, (index) => (index % 5 ? 30 : 0)),
      dropped(-30),
    );
    expect(fixed.verdict).toBe('healthy');
    expect(namesOf(fixed)).toEqual(['block_size_mismatch possible']);
  });
});

describe('what is found of other workers', () => {
  it('says nothing of one whose stores lack their parents and of which nothing is found', async () => {
    const workers = ['11', '22', '33'];
    const hits = (index: number): number => (index % 3 === 0 ? 0 : 40);
    const found = await ofLogs(decisions(0, 300, hits, workers) + missing(0, 100, '11', 9));
    expect(namesOf(found)[0]).toBe('block_size_mismatch likely');
    expect(found.headline).toContain('of worker 11');
    // One that is chosen for first prompts alone, or decodes, or caught up, has nothing wrong.
    expect((await ofLogs(decisions(0, 300, hits, workers))).verdict).toBe('healthy');
    for (const rest of [missing(0, 15, '11'), missing(0, 40, '11', 1)]) {
      const { assessments } = await ofLogs(decisions(0, 300, hits, workers) + rest);
      expect(assessments.map(({ cause }) => cause)).not.toContain('block_size_mismatch');
    }
  });

  it('does not contradict a publisher that drops blocks while one worker has no hit at all', async () => {
    const oneOnly = (index: number): number => (index % 2 ? 0 : 30);
    const found = await ofLogs(decisions(0, 200, oneOnly), dropped(-60));
    expect(namesOf(found)[0]).toBe('block_size_mismatch certain');
    expect((await ofLogs(decisions(0, 200, half), dropped(-60))).verdict).toBe('healthy');
  });

  it('does not contradict a router that keeps the number of its first worker', async () => {
    const refused = `${at(-60)}  WARN dynamo_llm::discovery::model_manager: KV Router block size mismatch! Model is requesting a different kv_cache_block_size than the existing router. model_name=m existing_block_size=16 requested_block_size=64\n`;
    const oneOnly = (index: number): number => (index % 2 ? 0 : 30);
    const found = await ofLogs(refused + decisions(0, 200, oneOnly));
    expect(namesOf(found)[0]).toBe('block_size_mismatch certain');
    expect((await ofLogs(refused + decisions(0, 200, half))).verdict).toBe('healthy');
  });
});

describe('what is found of another model', () => {
  const engine = (model: string, size: number): string =>
    [
      `vllm:num_requests_running{engine="0",model_name="${model}"} 4.0`,
      `vllm:prefix_cache_queries_total{engine="0",model_name="${model}"} 400000`,
      `vllm:prefix_cache_hits_total{engine="0",model_name="${model}"} 160000`,
      `vllm:cache_config_info{block_size="${size}",enable_prefix_caching="True",engine="0"} 1.0`,
      '',
    ].join('\n');
  const verdict = (a: number, b: number, gaugeB = 16): Diagnosis =>
    diagnose(
      joinEvidence([
        frontendPage({ size: 16, hitRate: 0.45, decisions: 2_000, cachedTokens: 90_000 }),
        metricsPart(
          'http://frontend:8000/b',
          `dynamo_frontend_model_kv_cache_block_size{model="Other"} ${gaugeB}\n`,
        ),
        metricsPart('http://a:8000/metrics', engine('tiny', a)),
        metricsPart('http://b:8000/metrics', engine('other', b)),
      ]),
    );

  it('does not contradict the numbers of one', () => {
    const found = verdict(16, 32);
    expect(namesOf(found)[0]).toBe('block_size_mismatch certain');
    expect(found.headline).toContain('frontend 16, worker 32 (model other)');
  });

  /** Requests of 1.6 for two models in turn, with what their router and their engines found. */
  const served = (
    count: number,
    found: (model: string) => number,
    cached: (model: string) => number,
  ): string =>
    Array.from({ length: count }, (_, index) => {
      const model = index % 2 ? 'org/b' : 'org/a';
      const id = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
      return `${at(index)}  INFO http-request:kv_router.route_request: request_span: route request completed request.outcome="success" method=POST request_id=${id} model="${model}" request_id=${id} dp_rank=0 overlap_blocks=${found(model)} phase=Aggregated worker_id=${index % 4} request.attempt=0\n${at(index)}  INFO http-request: dynamo_llm::http::service::metrics: request completed request_id=${id} model="${model}" input_tokens=2000 output_tokens=40 cached_tokens=${cached(model)} ttft_ms="42.10"\n`;
    }).join('');
  const ofA = (blocks: number) => (model: string) => (model === 'org/a' ? blocks : 0);
  const worker = (model: string, size: number): string =>
    `${at(0)}  INFO core.__init__: Initializing a V1 LLM engine (v0.19.0) with config: model='/models/x', tensor_parallel_size=1, served_model_name=${model}, enable_prefix_caching=True\n${at(1)}  INFO main.setup_vllm_engine: Cache config values: {'num_gpu_blocks': 8000, 'block_size': ${size}}\n`;

  it('does not hide that nothing is found of one, which its engines have', async () => {
    const found = await ofLogs(served(120, ofA(40), () => 1_200));
    expect(namesOf(found)).toEqual(['wrong_model_card likely']);
    expect(found.headline).toContain('nothing is found of model org/b');
    // Of which engines have nothing either, or of which few requests came, nothing follows.
    expect((await ofLogs(served(120, ofA(40), ofA(1_200)))).verdict).toBe('healthy');
    expect((await ofLogs(served(50, ofA(40), () => 1_200))).verdict).not.toBe('findings');
    expect(
      (
        await ofLogs(
          served(
            120,
            () => 40,
            () => 1_200,
          ),
        )
      ).verdict,
    ).toBe('healthy');
  });

  it('does not contradict the number that the log of a worker has of its own', async () => {
    const logs = await Promise.all([worker('org/a', 32), worker('org/b', 64)].map((text) => summaryOf(text)));
    const page = ['org/a', 'org/b']
      .map(
        (model) =>
          `dynamo_frontend_model_kv_cache_block_size{model="${model}"} ${model === 'org/a' ? 32 : 16}\n`,
      )
      .join('');
    const evidence = joined(
      { logs, sizes: logs.flatMap(({ sizes }) => sizes) },
      metricsPart(
        'http://frontend:8000/metrics',
        `${page}dynamo_component_router_kv_hit_rate_sum{router_id="1"} 48\ndynamo_component_router_kv_hit_rate_count{router_id="1"} 120\n`,
      ),
    );
    const found = diagnose(evidence);
    expect(namesOf(found)[0]).toBe('block_size_mismatch certain');
    expect(found.headline).toContain('frontend 16, worker 64 (model org/b)');
  });

  it('is compared model by model, not by the set of numbers', () => {
    expect(verdict(16, 32, 32).verdict).toBe('healthy');
    expect(namesOf(verdict(32, 16, 32))[0]).toBe('block_size_mismatch certain');
  });
});

describe('tokens that engines had', () => {
  it('are compared with tokens, not with decisions', async () => {
    const few = await ofLogs(decisions(0, 100, () => 1) + completed(0, 100, 2_880));
    expect(few.verdict).toBe('unknown');
    expect(few.unknowns.join(' ')).toMatch(/less than half of what engines have \(6\.3 % against 70\.3 %\)/);
    expect((await ofLogs(decisions(0, 100, () => 180) + completed(0, 100, 2_880))).verdict).toBe('healthy');
    // Two decisions for each request, of which one finds.
    const pair = decisions(0, 200, (index) => (index % 2 ? 0 : 180)) + completed(0, 100, 2_880);
    expect((await ofLogs(pair)).verdict).toBe('healthy');
  });
});
