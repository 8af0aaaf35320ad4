import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sumOf } from '../../../../src/tools/doctor/metrics/metrics-page.js';
import { readMetricsPage } from '../../../../src/tools/doctor/metrics/read-metrics-page.js';

function recording(path: string): string {
  return readFileSync(new URL(`../../../fixtures/${path}`, import.meta.url), 'utf8');
}

/** `worker 32 in_use`, … */
function sizesOf(text: string): readonly string[] {
  return readMetricsPage('page', text).sizes.map(
    ({ side, who, tokensPerBlock, basis }) => `${side} ${who} ${tokensPerBlock} ${basis}`,
  );
}

function settingsOf(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(readMetricsPage('page', text).settings.map(({ name, value }) => [name, value]));
}

describe('the page of', () => {
  it("Dynamo's frontend reports the size that its router uses", () => {
    const text = recording('doctor-metrics/dynamo-1.6.1.frontend.card-16-engine-32.txt');
    const { page } = readMetricsPage('page', text);
    expect(page.program).toBe('dynamo-frontend');
    expect(sizesOf(text)).toEqual(['frontend tiny 16 in_use']);
    expect(settingsOf(text)).toMatchObject({ max_num_seqs: '256', total_kv_blocks: '8192' });
    // 0 where the card has nothing is no length.
    expect(settingsOf(text)).not.toHaveProperty('max_model_len');
    const applied = 'dynamo_component_kv_cache_events_applied';
    expect(sumOf(page, applied, { event_type: 'stored', status: 'ok' })).toBe(48);
  });

  it("Dynamo's worker reports the events that it dropped", () => {
    const text = recording('doctor-metrics/dynamo-1.6.1.worker.card-16-engine-32.txt');
    const { page } = readMetricsPage('page', text);
    expect(page.program).toBe('dynamo-worker');
    const dropped = 'dynamo_component_kv_publisher_zmq_suspicious_events_total';
    expect(sumOf(page, dropped, { reason: 'empty_store_blocks' })).toBe(19);
    // Its engine is another program, and Dynamo's mocker has vLLM's families.
    const mocker = recording('engines/dynamo-1.6.1/mocker-metrics.block-32.txt');
    expect(readMetricsPage('page', mocker).page.program).toBe('dynamo-worker');
  });

  it("Dynamo's indexer reports what it applied", () => {
    const text = recording('doctor-metrics/dynamo-1.6.1.indexer.block-16-engine-32.txt');
    const { page } = readMetricsPage('page', text);
    expect(page.program).toBe('dynamo-indexer');
    const name = 'dynamo_kvrouter_kv_cache_events_applied';
    expect(sumOf(page, name, { status: 'parent_block_not_found' })).toBeGreaterThan(0);
  });

  it('vLLM reports its whole cache', () => {
    const text = recording('engines/vllm-0.32.0/metrics.b32.txt');
    expect(readMetricsPage('page', text).page.program).toBe('vllm');
    expect(sizesOf(text)).toEqual(['worker page 32 in_use']);
    expect(settingsOf(text)).toEqual({
      prefix_caching: 'True',
      gpu_memory_utilization: '0.92',
      total_kv_blocks: '65536',
      kv_cache_tokens: '2097152',
      kv_cache_bytes: '1073741824',
      hash_algorithm: 'sha256',
    });
  });

  it('an older vLLM reports its size where nothing speaks against it, and a hybrid one does not', () => {
    expect(sizesOf(recording('engines/vllm-public-reports/metrics.before-effective-label.txt'))).toEqual([
      'worker page 16 in_use',
    ]);
    const hybrid =
      'vllm:cache_config_info{block_size="528",mamba_block_size="528",num_gpu_blocks="100",engine="0"} 1.0\n';
    expect(sizesOf(hybrid)).toEqual([]);
  });

  it('SGLang reports its page, before 0.5.11 in labels', () => {
    const text = recording('engines/sglang-0.5.23/metrics.p32.txt');
    expect(readMetricsPage('page', text).page.program).toBe('sglang');
    expect(sizesOf(text)).toEqual(['worker page 32 in_use']);
    const older = recording('engines/sglang-public-reports/metrics.before-0.5.11.txt');
    expect(sizesOf(older)).toHaveLength(1);
  });

  it('TensorRT-LLM reports its block, which is none while the gauge is 0', () => {
    const text = recording('engines/trtllm-public-reports/prometheus-metrics.txt');
    expect(readMetricsPage('page', text).page.program).toBe('trtllm');
    expect(sizesOf(text)).toEqual(['worker page 64 in_use']);
    expect(sizesOf('trtllm_kv_cache_tokens_per_block 0\n')).toEqual([]);
  });

  it('kv-accord reports what was agreed, and what a sidecar reports', () => {
    const aggregator = 'kv_accord_agreed_tokens_per_block{group="tiny"} 32\n';
    expect(readMetricsPage('page', aggregator).page.program).toBe('kv-accord');
    expect(sizesOf(aggregator)).toEqual(['router tiny 32 in_use']);
    expect(sizesOf('kv_accord_tokens_per_block 16\n')).toEqual(['worker page 16 in_use']);
  });

  it('DCGM reports the memory of GPUs', () => {
    const labels = 'gpu="3",UUID="GPU-1",modelName="NVIDIA H100 80GB HBM3",pod="vllm-0"';
    const text = `DCGM_FI_DEV_FB_FREE{${labels}} 7000\nDCGM_FI_DEV_FB_USED{${labels}} 74000\nDCGM_FI_DEV_FB_RESERVED{${labels}} 559\n`;
    const { page, gpus } = readMetricsPage('page', text);
    expect(page.program).toBe('dcgm');
    expect(gpus).toMatchObject([
      { who: 'vllm-0', index: 3, totalBytes: 81_559 * 1_048_576, usedBytes: 74_000 * 1_048_576 },
    ]);
  });
});

describe('a page that nobody should believe', () => {
  it('gives no numbers that are none', () => {
    const text = [
      'dynamo_frontend_model_kv_cache_block_size{model="a"} -16',
      'dynamo_frontend_model_kv_cache_block_size{model="b"} NaN',
      'dynamo_frontend_model_kv_cache_block_size{model="c"} 1e30',
      'dynamo_frontend_model_kv_cache_block_size{model="d"} 16.5',
      'DCGM_FI_DEV_FB_USED{gpu="x"} +Inf',
    ].join('\n');
    const { sizes, gpus } = readMetricsPage('page', text);
    expect({ sizes, gpus }).toEqual({ sizes: [], gpus: [] });
  });

  it('never throws, and keeps excerpts short', () => {
    const names = ['vllm:cache_config_info', 'sglang:page_size', 'DCGM_FI_DEV_FB_USED', 'x'];
    const line = fc.tuple(fc.constantFrom(...names), fc.string(), fc.string());
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        const text = lines
          .map(([name, label, value]) => `${name}{block_size="${label}"} ${value}`)
          .join('\n');
        const { sizes, settings } = readMetricsPage('page', text);
        for (const { origin } of [...sizes, ...settings]) expect(origin.text.length).toBeLessThanOrEqual(300);
      }),
    );
  });
});
