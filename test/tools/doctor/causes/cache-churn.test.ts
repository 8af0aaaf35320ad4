import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import { metricsPart } from '../../../../src/tools/doctor/gather/metrics.js';
import { summaryOf } from '../logs/summaries.js';
import { joined, namesOf } from '../support/evidence.js';

async function adviceOf(...lines: readonly string[]) {
  const { headline, advice } = diagnose(joined({ logs: [await summaryOf(`${lines.join('\n')}\n`)] }));
  return { headline, advice };
}

const RETRACTION =
  '[2026-11-21 14:57:47 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_token_ratio: 0.0980 -> 0.1919';

describe('a cache whose prefixes are dropped as fast as they come', () => {
  const page = (name: string, lines: readonly string[]) => metricsPart(name, `${lines.join('\n')}\n`);
  const frontend = page('frontend', [
    'dynamo_component_router_kv_hit_rate_sum{router_id="1"} 0',
    'dynamo_component_router_kv_hit_rate_count{router_id="1"} 144',
    'dynamo_component_kv_cache_events_applied{event_type="stored",status="ok"} 144',
    'dynamo_component_kv_cache_events_applied{event_type="removed",status="ok"} 140',
  ]);
  const engine = page('w', [
    'vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.12',
    'vllm:prefix_cache_queries_total{engine="0",model_name="m"} 72000',
    'vllm:prefix_cache_hits_total{engine="0",model_name="m"} 0',
  ]);

  it('may be too small also while running requests hold little of it', () => {
    expect(namesOf(diagnose(joined(frontend, engine)))).toContain('cache_churn possible');
    expect(namesOf(diagnose(joined(engine)))).not.toContain('cache_churn possible');
  });
});

describe('requests that an engine takes off its GPU', () => {
  it('again and again are a full cache, and the cure has SGLang admit fewer', async () => {
    const { headline, advice } = await adviceOf(RETRACTION, RETRACTION, RETRACTION);
    expect(headline).toContain('The KV cache is full: running requests were taken off the GPU 6 times');
    expect(advice).toContain('--schedule-conservativeness 1.3');
  });

  it('once in a long log are a sign alone, with a test that proves it', async () => {
    const others = Array.from({ length: 60 }, () => '[2026-11-21 14:57:46 TP0] Decode batch.');
    expect((await adviceOf(...others, RETRACTION)).advice).toContain('Send two equal prompts');
  });

  it('in the few lines that somebody chose of a log are a full cache: the cure comes first', async () => {
    expect((await adviceOf(RETRACTION)).advice).toContain('--schedule-conservativeness 1.3');
  });
});

function stateOf(running: number, usage: number, hits: number): string {
  return `INFO 02-27 07:36:16 [loggers.py:257] Engine 000: Avg prompt throughput: 1310.2 tokens/s, Avg generation throughput: 134.8 tokens/s, Running: ${running} reqs, Waiting: ${usage > 90 ? 40 : 0} reqs, GPU KV cache usage: ${usage}%, Prefix cache hit rate: ${hits}%`;
}

describe('a KV cache that is full for a while', () => {
  const full = [stateOf(256, 99.4, 0.1), stateOf(251, 99.8, 0.2)];

  it('is no churn where prompts find nothing with room either: a benchmark of random prompts', async () => {
    const { headline } = await adviceOf(...full, ...Array.from({ length: 30 }, () => stateOf(5, 0.5, 0.2)));
    expect(headline).not.toContain('turns over');
  });

  it('is churn where prompts find their beginnings as long as there is room', async () => {
    const { headline } = await adviceOf(...full, ...Array.from({ length: 30 }, () => stateOf(5, 0.5, 14)));
    expect(headline).toContain('The KV cache turns over faster than conversations come back');
  });

  it('is named with those that wait where nobody saw it with room, and more memory comes first', async () => {
    const { headline, advice } = await adviceOf(...full);
    expect(headline).toBe('The KV cache is full: 40 requests waited for room in it');
    expect(advice).toContain('--gpu-memory-utilization');
  });

  it('is not what requests wait for that wait with room in it: as many run as may', async () => {
    const once = stateOf(30, 96, 0.2).replace('Waiting: 40', 'Waiting: 0');
    const later = stateOf(64, 60, 0.2).replace('Waiting: 0', 'Waiting: 3');
    const { headline } = await adviceOf(once, ...Array.from({ length: 30 }, () => later));
    expect(headline).not.toContain('waited for room');
  });
});

describe('a cache that is full of one request', () => {
  const batches = (running: number): readonly string[] =>
    Array.from({ length: 8 }, (_, at) => [
      `[2026-02-09 14:45:${at}1] Prefill batch, #new-seq: 1, #new-token: 22733, #cached-token: 10, token usage: 0.00, #running-req: 0, #queue-req: 0, `,
      `[2026-02-09 14:45:${at}5] Decode batch, #running-req: ${running}, #token: 24430, token usage: 0.97, cuda graph: True, gen throughput (token/s): 74.50, #queue-req: 0, `,
    ]).flat();

  it('takes no blocks away from others', async () => {
    expect((await adviceOf(...batches(1))).headline).not.toContain('turns over faster');
    expect((await adviceOf(...batches(4))).headline).toContain('turns over faster');
  });
});
