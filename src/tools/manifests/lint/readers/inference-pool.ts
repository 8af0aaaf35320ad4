import type { YAMLMap } from 'yaml';
import type { PlacedText, PodSite } from '../../pod-site.js';
import type { YamlAccess } from '../../yaml-access.js';
import { locateScalar } from '../text/scalar-text.js';
import type { Span, TextSource } from '../text/span.js';

/** A value of a pool with its place. */
export interface PoolValue {
  readonly value: string;
  readonly span: Span;
}

/** An InferencePool of the Gateway API Inference Extension, as a manifest has it. */
export interface PoolSite {
  readonly name: string;
  /** Undefined where the manifest leaves it to the person who applies it. */
  readonly namespace: string | undefined;
  /** Labels that pods must have. */
  readonly labels: ReadonlyMap<string, string>;
  readonly targetPorts: readonly PoolValue[];
  /** The Service of its picker. */
  readonly picker: PoolValue | undefined;
  readonly failureMode: PoolValue | undefined;
  readonly source: TextSource;
  /** The name of the pool. */
  readonly at: Span;
}

const GROUPS = /^inference\.networking\.(?:x-)?k8s\.io\//;

/** Pools of one file that are looked at. */
export const MAX_POOLS = 1_000;

/** Reads a pool of v1 or v1alpha2; undefined for every other object, and where it has no selector. */
export function readPoolSite(source: TextSource, access: YamlAccess, object: YAMLMap): PoolSite | undefined {
  if (access.text(object, 'kind')?.value !== 'InferencePool') return undefined;
  if (!GROUPS.test(access.text(object, 'apiVersion')?.value ?? '')) return undefined;
  const metadata = access.map(object, 'metadata');
  const name = access.text(metadata, 'name');
  const spec = access.map(object, 'spec');
  const labels = access.map(spec, 'selector', 'matchLabels') ?? access.map(spec, 'selector');
  const entries = access.textEntries(labels);
  // A name that is filled in later is that of many pools.
  if (name === undefined || entries.length === 0 || /[${}<>]/.test(name.value)) return undefined;
  const placed = (text: PlacedText | undefined): PoolValue | undefined =>
    text === undefined ? undefined : { value: text.value, span: locateScalar(source, text).span };
  const ports = access.maps(spec, 'targetPorts').map((port) => placed(access.text(port, 'number')));
  const picker = access.map(spec, 'endpointPickerRef') ?? access.map(spec, 'extensionRef');
  const { start, end } = name;
  return {
    name: name.value,
    namespace: access.text(metadata, 'namespace')?.value,
    labels: new Map(entries.map(({ key, value }) => [key.value, value.value])),
    targetPorts: [placed(access.text(spec, 'targetPortNumber')), ...ports].flatMap((port) => port ?? []),
    picker: placed(access.text(picker, 'name')),
    failureMode: placed(access.text(picker, 'failureMode')),
    source,
    at: { source, start, end, isExact: false },
  };
}

/** Whether a pool selects the pods of a template, as far as labels and namespaces are written. */
export function isSelected(pool: PoolSite, site: PodSite): boolean {
  if (pool.namespace !== undefined && site.namespace !== undefined && pool.namespace !== site.namespace)
    return false;
  return hasLabels(site, pool.labels);
}

/** Whether a pod has all of these labels. */
export function hasLabels(site: PodSite, labels: ReadonlyMap<string, string>): boolean {
  return [...labels].every(([key, value]) => site.labels.get(key) === value);
}
