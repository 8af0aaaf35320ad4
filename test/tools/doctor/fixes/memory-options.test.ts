import { describe, expect, it } from 'vitest';
import type { SettingName } from '../../../../src/engines/diagnosis/sighting-words.js';
import { memoryOptions } from '../../../../src/tools/doctor/fixes/memory.js';
import { readMeasurements } from '../../../../src/tools/doctor/measurements/measurements.js';
import { joined } from '../support/evidence.js';

function optionsOf(backend: string, settings: Partial<Record<SettingName, string>>): string {
  const all = Object.entries({ backend, ...settings }).map(([name, value]) => ({
    side: 'worker' as const,
    who: 'w0',
    name: name as SettingName,
    value,
    isDefault: false,
    origin: { place: 'w.log:1', text: '' },
  }));
  const options = memoryOptions(readMeasurements(joined({ settings: all }), []));
  return options.flatMap(({ says, commands }) => [says, ...commands]).join('\n');
}

describe('what leaves more of the cache to prefixes', () => {
  it('is a host cache that is larger than the one that there is', () => {
    expect(optionsOf('vllm', {})).toContain('--kv-offloading-size 32');
    const more = optionsOf('vllm', { host_cache: '96' });
    expect(more).toContain('--kv-offloading-size 192 (now 96)');
    expect(more).not.toContain('--kv-offloading-size 32');
    expect(optionsOf('trtllm', { host_cache_bytes: '0' })).toContain('host_cache_size: 34359738368');
    expect(optionsOf('trtllm', { host_cache_bytes: '137438953472' })).toContain(
      'host_cache_size: 274877906944',
    );
  });

  it('is by a ratio or gigabytes in SGLang, as it has them, and the ratio alone switches nothing on', () => {
    expect(optionsOf('sglang', { host_cache_ratio: '2.0', host_cache_gigabytes: '0' })).toContain(
      '--hicache-ratio 2\n',
    );
    expect(optionsOf('sglang', { host_cache: 'true' })).toContain('--hicache-ratio 4 (now 2, by default)');
    expect(optionsOf('sglang', { host_cache: 'true', host_cache_gigabytes: '64' })).toContain(
      '--hicache-size 128 (now 64)',
    );
    expect(optionsOf('sglang', { host_cache: 'false' })).toContain('--hicache-ratio 2\n');
  });

  it('is no smaller share of the GPU than there is', () => {
    expect(optionsOf('sglang', { gpu_memory_utilization: '0.85' })).toContain('--mem-fraction-static 0.90');
    expect(optionsOf('sglang', { gpu_memory_utilization: '0.93' })).not.toContain('--mem-fraction-static');
    expect(optionsOf('vllm', { gpu_memory_utilization: '0.93' })).toContain('--gpu-memory-utilization 0.95');
  });

  it('is no cache of 8 bits where there is one', () => {
    expect(optionsOf('vllm', { kv_cache_dtype: 'auto' })).toContain('--kv-cache-dtype fp8');
    expect(optionsOf('vllm', { kv_cache_dtype: 'fp8' })).not.toContain('--kv-cache-dtype fp8');
    expect(optionsOf('vllm', { kv_cache_format: 'fp8_ds_mla' })).not.toContain('--kv-cache-dtype fp8');
  });
});
