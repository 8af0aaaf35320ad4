import type { SettingName } from '../../../engines/diagnosis/sighting-words.js';
import type { MetricSample } from '../../../engines/facts/prometheus-text.js';
import { readMetrics } from '../../../engines/facts/prometheus-text.js';
import type { GpuSighting, Origin, SettingSighting, SizeSighting } from '../evidence.js';
import { excerptOf } from '../logs/masking.js';
import type { MetricsPage } from './metrics-page.js';
import { WANTED_METRICS } from './wanted-metrics.js';

/** What one page of metrics reports. */
export interface ReadPage {
  readonly page: MetricsPage;
  readonly sizes: readonly SizeSighting[];
  readonly settings: readonly SettingSighting[];
  readonly gpus: readonly GpuSighting[];
  /** Lines of wanted metrics that could not be read. */
  readonly problems: readonly string[];
}

/** Families by which a page is known, the most specific first: a worker's page has its engine's families too. */
const SIGNS: readonly (readonly [prefix: string, program: MetricsPage['program']])[] = [
  ['dynamo_frontend_', 'dynamo-frontend'],
  ['dynamo_kvindexer_', 'dynamo-indexer'],
  ['dynamo_component_', 'dynamo-worker'],
  ['vllm:', 'vllm'],
  ['sglang:', 'sglang'],
  ['trtllm', 'trtllm'],
  ['kv_accord_', 'kv-accord'],
  ['DCGM_FI_DEV_', 'dcgm'],
];

const BYTES_PER_MIB = 1024 * 1024;

/**
 * Reads a page of metrics in the Prometheus text format: what is wanted of it,
 * whose it is, and the numbers that decide. `who` is the worker or the pod
 * whose page it is, else its name.
 */
export function readMetricsPage(name: string, text: string, who: string = name): ReadPage {
  const { samples, problems } = readMetrics(text, WANTED_METRICS);
  const program = SIGNS.find(([prefix]) => [...samples.keys()].some((key) => key.startsWith(prefix)))?.[1];
  const page: MetricsPage = { name, program: program ?? 'unknown', samples };
  const reader = new PageReader(page, who);
  reader.readFrontend();
  reader.readVllm();
  reader.readSglang();
  reader.readTrtllm();
  reader.readOwn();
  return { page, sizes: reader.sizes, settings: reader.settings, gpus: readDcgm(page), problems };
}

class PageReader {
  readonly sizes: SizeSighting[] = [];
  readonly settings: SettingSighting[] = [];
  readonly #page: MetricsPage;
  readonly #who: string;

  constructor(page: MetricsPage, who: string) {
    this.#page = page;
    this.#who = who;
  }

  /** What the frontend took from the cards of a model's workers, and uses. */
  readFrontend(): void {
    const of = (name: string, use: (sample: MetricSample, value: number) => void): void => {
      for (const sample of this.#of(`dynamo_frontend_model_${name}`)) {
        const value = wholeOf(sample.valueText);
        // A gauge is 0 where the card has nothing.
        if (value !== undefined) use(sample, value);
      }
    };
    const model = (sample: MetricSample): string => sample.labels.get('model') ?? '';
    of('kv_cache_block_size', (sample, tokensPerBlock) => {
      const origin = this.#origin(sample);
      this.sizes.push({ side: 'frontend', who: model(sample), tokensPerBlock, basis: 'in_use', origin });
    });
    of('total_kv_blocks', (sample) => this.#setFor(model(sample), 'total_kv_blocks', sample));
    of('max_num_seqs', (sample) => this.#setFor(model(sample), 'max_num_seqs', sample));
    of('context_length', (sample) => this.#setFor(model(sample), 'max_model_len', sample));
  }

  /** `vllm:cache_config_info` has vLLM's whole `CacheConfig` in its labels. */
  readVllm(): void {
    this.#readVllmAdapters();
    for (const sample of this.#of('vllm:cache_config_info')) {
      const whole = (label: string): number | undefined => wholeOf(sample.labels.get(label) ?? '');
      // `block_size` is the scheduler's unit, and the width of an event only where nothing more exact is reported.
      const size = whole('effective_attention_block_size') ?? this.#plainVllmSize(sample, whole);
      const labels = [
        'effective_attention_block_size',
        'block_size',
        'num_gpu_blocks',
        'kv_cache_size_tokens',
      ];
      const origin = this.#labelOrigin(sample, labels);
      if (size !== undefined) this.#size(size, origin);
      const set = (name: SettingName, label: string): void => {
        const value = sample.labels.get(label);
        if (value !== undefined && value !== 'None')
          this.#set(this.#who, name, value, this.#labelOrigin(sample, [label]));
      };
      set('prefix_caching', 'enable_prefix_caching');
      set('gpu_memory_utilization', 'gpu_memory_utilization');
      set('total_kv_blocks', 'num_gpu_blocks');
      set('kv_cache_tokens', 'kv_cache_size_tokens');
      set('kv_cache_bytes', 'kv_cache_memory_bytes');
      set('hash_algorithm', 'prefix_caching_hash_algo');
      if (sample.labels.get('cache_dtype') !== 'auto') set('kv_cache_dtype', 'cache_dtype');
    }
  }

  /** The gauge is there only where adapters may be loaded; those that run at the moment are in its labels. */
  #readVllmAdapters(): void {
    for (const sample of this.#of('vllm:lora_requests_info')) {
      const { labels } = sample;
      const running = labels.get('running_lora_adapters') ?? '';
      const value = running === '' ? `at most ${labels.get('max_lora') ?? 'some'}` : running;
      const origin = this.#labelOrigin(sample, ['max_lora', 'running_lora_adapters']);
      this.#set(this.#who, 'lora_adapters', value, origin);
    }
  }

  #plainVllmSize(sample: MetricSample, whole: (label: string) => number | undefined): number | undefined {
    const mamba = sample.labels.get('mamba_block_size');
    if (mamba !== undefined && mamba !== 'None') return undefined;
    const [size, blocks, tokens] = [
      whole('block_size'),
      whole('num_gpu_blocks'),
      whole('kv_cache_size_tokens'),
    ];
    const differs =
      size !== undefined && blocks !== undefined && tokens !== undefined && tokens !== size * blocks;
    return differs ? undefined : size;
  }

  readSglang(): void {
    for (const sample of this.#of('sglang:page_size')) {
      const size = wholeOf(sample.valueText);
      if (size !== undefined) this.#size(size, this.#origin(sample));
    }
    for (const sample of this.#of('sglang:cache_config_info')) {
      const size = wholeOf(sample.labels.get('page_size') ?? '');
      if (size !== undefined) this.#size(size, this.#labelOrigin(sample, ['page_size', 'num_pages']));
    }
    this.#gauge('sglang:num_pages', 'total_kv_blocks');
    this.#gauge('sglang:max_total_num_tokens', 'kv_cache_tokens');
    this.#gauge('sglang:context_len', 'max_model_len');
  }

  readTrtllm(): void {
    for (const prefix of ['trtllm_', 'trtllm:']) {
      for (const sample of this.#of(`${prefix}kv_cache_tokens_per_block`)) {
        const size = wholeOf(sample.valueText);
        if (size !== undefined) this.#size(size, this.#origin(sample));
      }
      this.#gauge(`${prefix}kv_cache_max_blocks`, 'total_kv_blocks');
    }
  }

  /** What a kv-accord aggregator has agreed for each group, and what a sidecar reports of its engine. */
  readOwn(): void {
    for (const sample of this.#of('kv_accord_agreed_tokens_per_block')) {
      const tokensPerBlock = wholeOf(sample.valueText);
      const who = sample.labels.get('group') ?? '';
      const origin = this.#origin(sample);
      if (tokensPerBlock !== undefined)
        this.sizes.push({ side: 'router', who, tokensPerBlock, basis: 'in_use', origin });
    }
    for (const sample of this.#of('kv_accord_tokens_per_block')) {
      const size = wholeOf(sample.valueText);
      if (size !== undefined) this.#size(size, this.#origin(sample));
    }
  }

  #of(name: string): readonly MetricSample[] {
    return this.#page.samples.get(name) ?? [];
  }

  /** A gauge of which there is one; of several ranks, the first stands for all. */
  #gauge(metric: string, name: SettingName): void {
    const [sample] = this.#of(metric);
    if (sample !== undefined && wholeOf(sample.valueText) !== undefined)
      this.#setFor(this.#who, name, sample);
  }

  #size(tokensPerBlock: number, origin: Origin): void {
    const isKnown = this.sizes.some((one) => one.tokensPerBlock === tokensPerBlock && one.side === 'worker');
    if (!isKnown)
      this.sizes.push({ side: 'worker', who: this.#who, tokensPerBlock, basis: 'in_use', origin });
  }

  #setFor(who: string, name: SettingName, sample: MetricSample): void {
    this.#set(who, name, String(wholeOf(sample.valueText)), this.#origin(sample));
  }

  #set(who: string, name: SettingName, value: string, origin: Origin): void {
    const side = this.#page.program === 'dynamo-frontend' ? 'frontend' : 'worker';
    this.settings.push({ side, who, name, value: value.slice(0, MAX_VALUE_CHARS), isDefault: false, origin });
  }

  #origin({ name, labels, valueText }: MetricSample): Origin {
    const model = labels.get('model');
    const text = `${name}${model === undefined ? '' : `{model="${model}"}`} ${valueText}`;
    return { place: this.#page.name, text: excerptOf(text, name) };
  }

  #labelOrigin({ name, labels }: MetricSample, wanted: readonly string[]): Origin {
    const shown = wanted.flatMap((label) => (labels.has(label) ? [`${label}="${labels.get(label)}"`] : []));
    return { place: this.#page.name, text: excerptOf(`${name}{${shown.join(',')}}`, name) };
  }
}

/** Longest value of a setting that is kept. */
const MAX_VALUE_CHARS = 128;

/** A whole number above zero that a metric or a label says. */
function wholeOf(text: string): number | undefined {
  const value = Number(text);
  return text.trim() !== '' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

/** Framebuffer memory as NVIDIA's DCGM exporter reports it, in MiB. */
function readDcgm(page: MetricsPage): readonly GpuSighting[] {
  const mebibytes = (name: string, gpu: string): number => {
    const found = (page.samples.get(`DCGM_FI_DEV_${name}`) ?? []).find((sample) => keyOf(sample) === gpu);
    const value = Number(found?.valueText ?? Number.NaN);
    return Number.isFinite(value) && value >= 0 ? value : Number.NaN;
  };
  return (page.samples.get('DCGM_FI_DEV_FB_USED') ?? []).flatMap((sample, order) => {
    const gpu = keyOf(sample);
    const used = mebibytes('FB_USED', gpu);
    const reserved = mebibytes('FB_RESERVED', gpu);
    const sum = used + mebibytes('FB_FREE', gpu) + (Number.isNaN(reserved) ? 0 : reserved);
    const reported = mebibytes('FB_TOTAL', gpu);
    const total = Number.isNaN(reported) ? sum : reported;
    if (!Number.isFinite(total) || total <= 0) return [];
    const { labels } = sample;
    const index = Number(labels.get('gpu'));
    return [
      {
        who: labels.get('exported_pod') ?? labels.get('pod') ?? labels.get('Hostname') ?? '',
        index: Number.isSafeInteger(index) ? index : order,
        product: (labels.get('modelName') ?? '').slice(0, MAX_VALUE_CHARS),
        totalBytes: total * BYTES_PER_MIB,
        usedBytes: Number.isFinite(used) ? used * BYTES_PER_MIB : undefined,
        origin: {
          place: page.name,
          text: excerptOf(
            `DCGM_FI_DEV_FB_USED{gpu="${labels.get('gpu') ?? ''}"} ${sample.valueText}`,
            'DCGM',
          ),
        },
      },
    ];
  });
}

function keyOf({ labels }: MetricSample): string {
  return labels.get('UUID') ?? `${labels.get('Hostname') ?? ''}/${labels.get('gpu') ?? ''}`;
}
