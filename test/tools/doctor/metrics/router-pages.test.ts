import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../../src/tools/doctor/diagnosis.js';
import { joinEvidence } from '../../../../src/tools/doctor/evidence.js';
import { metricsPart } from '../../../../src/tools/doctor/gather/metrics.js';
import { isMetricsText } from '../../../../src/tools/doctor/metrics/metrics-text.js';

function detailOf(text: string): string {
  return metricsPart('page', text).source.detail;
}

function diagnosisOf(text: string): Diagnosis {
  return diagnose(joinEvidence([metricsPart('page', text)]));
}

const PICKER = `llm_d_epp_kv_cache_events_active_subscribers 4
kvcache_index_lookup_requests_total 1204
inference_pool_ready_pods{name="p"} 4
llm_d_epp_request_cached_tokens_sum{model_name="m"} 120000
llm_d_epp_request_input_tokens_sum{model_name="m"} 300000
`;
const RECEIVED = 'llm_d_epp_kv_cache_events_messages_received_total{pod_identifier="a"} 500\n';
const GUESSES = `inference_extension_prefix_indexer_hit_ratio_sum 410.5
inference_extension_prefix_indexer_hit_ratio_count 900
`;

describe('the page of a router', () => {
  it.each([
    ['llm-d', PICKER, /4 ready pods, 1204 lookups, 4 subscribers of KV events/],
    ['llm-d', GUESSES, /llm-d: 2 metrics/],
    ['aibrix', 'aibrix_kvcache_zmq_connection_status{pod_key="a"} 1\n', /1 pods whose KV events/],
    ['smg', 'smg_worker_health{worker="http://a"} 1\n', /1 healthy workers/],
    ['smg', 'sgl_router_active_workers 2\n', /2 active workers/],
    ['vllm-router', 'vllm_router_active_workers 2\n', /2 active workers/],
    ['production-stack', 'vllm:healthy_pods_total{server="http://a"} 1\n', /1 healthy pods/],
  ])('is known as that of %s, with what it counts', (program, text, detail) => {
    expect(detailOf(text)).toMatch(detail);
    expect(detailOf(text)).toMatch(new RegExp(`^${program}: `));
  });

  it("leaves an engine's page what it is", () => {
    expect(detailOf('vllm:num_requests_running{engine="0"} 1\n')).toMatch(/^vllm: /);
  });
});

describe("the index of llm-d's picker", () => {
  it('gets no events, so that it finds nothing', () => {
    const { verdict, assessments } = diagnosisOf(`${PICKER}kvcache_index_lookup_hits_total 0\n`);
    expect(verdict).toBe('findings');
    expect(assessments.map(({ cause }) => cause)).toContain('events_off');
  });

  it('gets events and finds nothing that engines have: its block size is another', () => {
    const { assessments } = diagnosisOf(`${PICKER}${RECEIVED}kvcache_index_lookup_hits_total 0\n`);
    expect(assessments[0]?.cause).toBe('block_size_mismatch');
    expect(assessments[0]?.fixes[0]?.says).toContain('tokenProcessorConfig');
    expect(assessments.map(({ cause }) => cause)).not.toContain('wrong_model_card');
  });

  it('finds blocks, and nothing is said against it', () => {
    const { assessments, unknowns } = diagnosisOf(
      `${PICKER}${RECEIVED}kvcache_index_lookup_hits_total 8000\n`,
    );
    expect(assessments).toEqual([]);
    expect(unknowns[0]).toContain('8000 blocks in 1204 lookups');
  });

  it('has counted nothing yet', () => {
    const { verdict, assessments, advice } = diagnosisOf('inference_pool_ready_pods{name="p"} 4\n');
    expect(verdict).toBe('unknown');
    expect(assessments).toEqual([]);
    expect(advice).toMatch(/^Run this command again after/);
  });
});

describe('a router that guesses', () => {
  it.each([
    ['finds many', GUESSES, /45\.6 % of 900 prompts/],
    ['finds none', 'vllm_router_cache_hits_total 0\nvllm_router_cache_misses_total 900\n', /0\.0 % of 900/],
    ['of SGLang', 'sgl_router_cache_hits_total 9\nsgl_router_cache_misses_total 1\n', /90\.0 % of 10/],
    [
      'of AIBrix',
      'aibrix_prefix_cache_routing_decisions_total{match_percent_bucket="0",using_kv_sync="false"} 30\n',
      /0\.0 % of 30/,
    ],
  ])('%s, which proves neither health nor a fault', (_name, text, says) => {
    const { verdict, assessments, unknowns, advice } = diagnosisOf(text);
    expect(verdict).toBe('unknown');
    expect(assessments).toEqual([]);
    expect(unknowns[0]).toMatch(says);
    expect(advice).toContain('metrics of an engine');
  });
});

describe("AIBrix's gateway", () => {
  const decisions = (bucket: string, count: number): string =>
    `aibrix_prefix_cache_routing_decisions_total{match_percent_bucket="${bucket}",using_kv_sync="true"} ${count}\n`;
  const STATUS = 'aibrix_kvcache_zmq_connection_status{pod_key="a"} 1\n';

  it('finds prefixes by the events of its pods', () => {
    const { verdict, headline } = diagnosisOf(
      `${STATUS}${decisions('0', 400)}${decisions('76-99', 600)}aibrix_kvcache_zmq_events_processed_total{event_type="BlockStored"} 9\n`,
    );
    expect(verdict).toBe('healthy');
    expect(headline).toContain('60.0 %');
  });

  it('missed events', () => {
    const { assessments } = diagnosisOf(
      `${STATUS}${decisions('0', 400)}aibrix_kvcache_zmq_events_processed_total{event_type="BlockStored"} 9\naibrix_kvcache_zmq_missed_events_total{pod_key="a"} 77\n`,
    );
    const lost = assessments.find(({ cause }) => cause === 'events_lost');
    expect(lost?.cluesFor[0]?.says).toBe('The gateway missed 77 events.');
  });
});

describe('a text', () => {
  it('is a page of metrics by its first lines', () => {
    expect(isMetricsText('# HELP a b\n# TYPE a gauge\na{b="c"} 1.5\na{b="d"} +Inf\n')).toBe(true);
    expect(isMetricsText('# TYPE a gauge\na 1\nb 2 1700000000\ncut{a="')).toBe(true);
  });

  it.each([
    '# HELP a b\n# TYPE a gauge\na 1\nINFO 07-08 11:49:03 [engine.py:458] it begins\n',
    'a 1\nb 2\nc 3\n',
    '# HELP a b\n',
    '',
  ])('is none: %j', (text) => {
    expect(isMetricsText(text)).toBe(false);
  });
});
