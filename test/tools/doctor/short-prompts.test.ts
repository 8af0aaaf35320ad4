import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/tools/doctor/diagnose.js';
import type { Evidence } from '../../../src/tools/doctor/evidence.js';
import { metricsPart } from '../../../src/tools/doctor/gather/metrics.js';
import { summaryOf } from './logs/summaries.js';
import { joined, namesOf, settingOf } from './support/evidence.js';

/** The page of a frontend before a hybrid model, of whose workers no store came. */
const page = (promptTokens: number): Partial<Evidence> =>
  metricsPart(
    'http://frontend:8000/metrics',
    [
      'dynamo_frontend_model_kv_cache_block_size{model="m"} 2096',
      `dynamo_frontend_input_sequence_tokens_sum{model="m"} ${promptTokens * 120}`,
      'dynamo_frontend_input_sequence_tokens_count{model="m"} 120',
      'dynamo_frontend_output_sequence_tokens_sum{model="m"} 4800',
      'dynamo_component_router_kv_hit_rate_sum{router_id="1"} 0',
      'dynamo_component_router_kv_hit_rate_count{router_id="1"} 120',
      'dynamo_component_kv_cache_events_applied{event_type="stored",status="ok"} 0',
      '',
    ].join('\n'),
  );
const vllm = metricsPart(
  'http://w:9090/metrics',
  [
    'vllm:prefix_cache_queries_total{engine="0",model_name="m"} 72000',
    'vllm:prefix_cache_hits_total{engine="0",model_name="m"} 0',
    'vllm:cache_config_info{block_size="2096",effective_attention_block_size="2096",enable_prefix_caching="True",engine="0"} 1.0',
    '',
  ].join('\n'),
);
const decisions = (logit: number, count = 40): string =>
  Array.from(
    { length: count },
    (_, at) =>
      `2026-03-03T10:00:${String(at % 60).padStart(2, '0')}.000114Z  INFO dynamo_llm::kv_router::scheduler: Selected worker: worker_id=${at % 2} dp_rank=0, logit: ${logit.toFixed(3)}, cached blocks: 0, tree size: 0\n`,
  ).join('');
const ofLog = async (text: string, more: Partial<Evidence> = {}) =>
  diagnose(joined({ logs: [await summaryOf(text)] }, more));

describe('prompts that are shorter than a block', () => {
  it('leave nothing to store and nothing to find, which is no fault of events', () => {
    const { verdict, headline, unknowns, advice } = diagnose(joined(page(600), vllm));
    expect(verdict).toBe('unknown');
    expect(headline).toContain('prompts are shorter than a block of 2096 tokens');
    expect(unknowns[0]).toContain(
      'Prompts and answers have 640 tokens on average, less than a block of 2096',
    );
    expect(advice).toContain('longer than a block of 2096 tokens');
  });

  it('do not hide that no store comes of longer ones, or that events are off', () => {
    expect(namesOf(diagnose(joined(page(2_400), vllm)))[0]).toBe('events_off likely');
    const off = { settings: [settingOf('worker', 'publishes_kv_events', 'false')] };
    expect(namesOf(diagnose(joined(page(600), vllm, off)))[0]).toBe('events_off likely');
  });

  it('are known by the load that a router takes them for', async () => {
    const short = await ofLog(decisions(0.562));
    expect(short.verdict).toBe('unknown');
    expect(short.headline).toContain('prompts are shorter than a block');
    expect(namesOf(await ofLog(decisions(20.5)))).toContain('events_off possible');
    // Nine requests say nothing, and where what is to be computed weighs less, so does the load.
    expect((await ofLog(decisions(0.562, 9))).headline).not.toContain('shorter');
    const weighed =
      '2026-03-03T10:00:00.000114Z  INFO dynamo_llm::kv_router::scheduler: Formula for worker_id=1 dp_rank=0 with 0 cached blocks: 0.500 = 0.0 * prefill_blocks + decode_blocks = 0.0 * 197.625 + 0.500\n';
    expect((await ofLog(weighed + decisions(0.562))).headline).not.toContain('shorter');
  });
});
