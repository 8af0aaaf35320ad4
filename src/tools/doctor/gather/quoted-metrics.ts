import type { NamedText } from '../../manifests/lint/fixes/apply-fixes.js';
import type { EvidencePart } from '../evidence.js';
import { quotedSamples } from '../metrics/metrics-text.js';
import { metricsPart } from './metrics.js';

/** What lines of a page of metrics say that stand in a text among others. */
export function quotedMetrics({ file, text }: NamedText): Partial<EvidencePart> {
  const samples = quotedSamples(text);
  return samples.length === 0 ? {} : metricsPart(file, samples.join('\n'));
}
