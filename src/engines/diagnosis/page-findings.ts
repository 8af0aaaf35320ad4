import type { MetricSample } from '../facts/prometheus-text.js';
import type { SettingName, Side } from './sighting-words.js';

/** Whose number a page has, and which labels of the sample show it; of the worker whose page it is unless given. */
export interface OnPage {
  readonly side?: Side;
  readonly who?: string;
  /** Labels that the origin shows in place of the sample's value. */
  readonly labels?: readonly string[];
}

/** Where the readers of engines put what they find on one page of metrics. All of it is bounded, whatever the page has. */
export interface PageFindings {
  /** The samples of a metric, by its exact name. */
  of(name: string): readonly MetricSample[];
  /** A block size; nothing is kept when it is undefined. */
  addSize(sample: MetricSample, tokensPerBlock: number | undefined, on?: OnPage): void;
  /** A setting; nothing is kept when its value is undefined. */
  addSetting(sample: MetricSample, name: SettingName, value: string | undefined, on?: OnPage): void;
}

/** A whole number above zero that a metric or a label says; a gauge is 0 before anything is known. */
export function positiveNumberOf(text: string | undefined): number | undefined {
  const value = Number(text);
  return text !== undefined && text.trim() !== '' && Number.isSafeInteger(value) && value > 0
    ? value
    : undefined;
}

/** A gauge of which there is one, as a setting; of several ranks, the first stands for all. */
export function addGauge(found: PageFindings, metric: string, name: SettingName): void {
  const [sample] = found.of(metric);
  const value = positiveNumberOf(sample?.valueText);
  if (sample !== undefined && value !== undefined) found.addSetting(sample, name, String(value));
}
