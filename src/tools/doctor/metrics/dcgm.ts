import type { MetricSample } from '../../../engines/facts/prometheus-text.js';
import { excerptOf } from '../logs/masking.js';
import type { GpuSighting } from '../sightings.js';
import type { MetricsPage } from './metrics-page.js';

const BYTES_PER_MIB = 1024 * 1024;
/** Longest name of a product that is kept. */
const MAX_NAME_CHARS = 128;

/** What is kept of the page of NVIDIA's DCGM exporter, in MiB. */
export const DCGM_METRICS: readonly string[] = ['FB_FREE', 'FB_USED', 'FB_RESERVED', 'FB_TOTAL'].map(
  (name) => `DCGM_FI_DEV_${name}`,
);

/** Framebuffer memory as NVIDIA's DCGM exporter reports it. */
export function readDcgm(page: MetricsPage): readonly GpuSighting[] {
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
        product: (labels.get('modelName') ?? '').slice(0, MAX_NAME_CHARS),
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
