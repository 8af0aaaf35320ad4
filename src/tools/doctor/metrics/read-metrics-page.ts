import type { OnPage, PageFindings } from '../../../engines/diagnosis/page-findings.js';
import type { SettingName } from '../../../engines/diagnosis/sighting-words.js';
import type { MetricSample } from '../../../engines/facts/prometheus-text.js';
import { readMetrics } from '../../../engines/facts/prometheus-text.js';
import { excerptOf } from '../logs/masking.js';
import type { GpuSighting, Origin, SettingSighting, SizeSighting } from '../sightings.js';
import { readDcgm } from './dcgm.js';
import { KNOWN_PAGES, programOf, WANTED_METRICS } from './known-pages.js';
import type { MetricsPage } from './metrics-page.js';

/** What one page of metrics reports. */
export interface ReadPage {
  readonly page: MetricsPage;
  readonly sizes: readonly SizeSighting[];
  readonly settings: readonly SettingSighting[];
  readonly gpus: readonly GpuSighting[];
  /** Lines of wanted metrics that could not be read. */
  readonly problems: readonly string[];
}

/** Longest value of a setting that is kept. */
const MAX_VALUE_CHARS = 128;

/**
 * Reads a page of metrics in the Prometheus text format: what is wanted of it,
 * whose it is, and the numbers that decide. What names no worker itself is of `name`.
 */
export function readMetricsPage(name: string, text: string): ReadPage {
  const { samples, problems } = readMetrics(text, WANTED_METRICS);
  const page: MetricsPage = { name, program: programOf(samples.keys()), samples };
  const found = new FoundOnPage(page);
  for (const pages of KNOWN_PAGES) pages.read(found);
  return { page, sizes: found.sizes, settings: found.settings, gpus: readDcgm(page), problems };
}

class FoundOnPage implements PageFindings {
  readonly sizes: SizeSighting[] = [];
  readonly settings: SettingSighting[] = [];
  readonly #page: MetricsPage;

  constructor(page: MetricsPage) {
    this.#page = page;
  }

  of(name: string): readonly MetricSample[] {
    return this.#page.samples.get(name) ?? [];
  }

  addSize(sample: MetricSample, tokensPerBlock: number | undefined, on: OnPage = {}): void {
    const { side = 'worker', who = this.#page.name } = on;
    if (tokensPerBlock === undefined) return;
    // Ranks repeat their worker's number.
    const isKnown = this.sizes.some((one) => one.tokensPerBlock === tokensPerBlock && one.side === side);
    if (isKnown && side === 'worker') return;
    const model = side === 'worker' ? this.#model() : sample.labels.get('model');
    const origin = this.#origin(sample, on);
    const named = model === undefined ? {} : { model };
    this.sizes.push({ side, who, tokensPerBlock, basis: 'in_use', origin, ...named });
  }

  addSetting(sample: MetricSample, name: SettingName, value: string | undefined, on: OnPage = {}): void {
    const { side = 'worker', who = this.#page.name } = on;
    if (value === undefined) return;
    const kept = value.slice(0, MAX_VALUE_CHARS);
    this.settings.push({ side, who, name, value: kept, isDefault: false, origin: this.#origin(sample, on) });
  }

  /** The model of a page that is of one alone. */
  #model(): string | undefined {
    const names = new Set<string>();
    for (const samples of this.#page.samples.values())
      for (const { labels } of samples) {
        const name = labels.get('model_name') ?? labels.get('model');
        if (name !== undefined && name !== '') names.add(name);
      }
    const [first, ...others] = names;
    return others.length === 0 ? first : undefined;
  }

  #origin({ name, labels, valueText }: MetricSample, { labels: wanted }: OnPage): Origin {
    const model = labels.get('model');
    const shown = (wanted ?? []).flatMap((label) =>
      labels.has(label) ? [`${label}="${labels.get(label)}"`] : [],
    );
    const text =
      wanted === undefined
        ? `${name}${model === undefined ? '' : `{model="${model}"}`} ${valueText}`
        : `${name}{${shown.join(',')}}`;
    return { place: this.#page.name, text: excerptOf(text, name) };
  }
}
