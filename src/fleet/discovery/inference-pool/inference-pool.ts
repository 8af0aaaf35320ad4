import { asRecord, integerAt, listAt, textAt, valueAt } from '../../../edge/kubernetes/read-json.js';

/** A version of the InferencePool of the Gateway API Inference Extension. */
export interface PoolVersion {
  readonly group: string;
  readonly version: string;
}

/** The version that gateways serve: `api/v1/inferencepool_types.go` of the Inference Extension 1.5.0. */
export const POOL_V1: PoolVersion = { group: 'inference.networking.k8s.io', version: 'v1' };

/** The version before it, with another group and other names of fields. */
export const POOL_V1ALPHA2: PoolVersion = { group: 'inference.networking.x-k8s.io', version: 'v1alpha2' };

/** What is read of an InferencePool. */
export interface PoolSpec {
  /** The pods' labels as the API server reads a selector: `app=vllm,tier=decode`. */
  readonly selector: string;
  /** Ports of each pod at which an engine serves, in the order of the pool: 1 to `MAX_TARGET_PORTS`. */
  readonly targetPorts: readonly number[];
}

/** Ports of one pool: the API server takes no more. */
const MAX_TARGET_PORTS = 8;

/** Labels of one selector: the API server takes no more. */
const MAX_LABELS = 64;

/** Kubernetes' syntax of the key and of the value of a label. */
const LABEL_KEY = /^(?:[a-z0-9][a-z0-9.-]{0,252}\/)?[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)?$/;

/**
 * Reads the `spec` of an InferencePool of either version; what is wrong with it,
 * as a text, where the API server would not have taken it.
 */
export function readPool(object: unknown): PoolSpec | string {
  const labels =
    asRecord(valueAt(object, 'spec', 'selector', 'matchLabels')) ??
    // v1alpha2 has the labels themselves.
    asRecord(valueAt(object, 'spec', 'selector'));
  const selector = selectorOf(labels);
  if (selector === undefined) return 'its spec.selector has no labels that Kubernetes allows';
  const targetPorts = portsOf(object);
  if (targetPorts === undefined)
    return `its spec.targetPorts must be 1 to ${MAX_TARGET_PORTS} different numbers from 1 to 65535`;
  return { selector, targetPorts };
}

function selectorOf(labels: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const entries = Object.entries(labels ?? {});
  if (entries.length === 0 || entries.length > MAX_LABELS) return undefined;
  const parts: string[] = [];
  for (const [key, value] of entries) {
    if (typeof value !== 'string' || !LABEL_KEY.test(key) || !LABEL_VALUE.test(value)) return undefined;
    parts.push(`${key}=${value}`);
  }
  return parts.sort().join(',');
}

function portsOf(object: unknown): readonly number[] | undefined {
  const single = integerAt(object, 'spec', 'targetPortNumber');
  const listed = listAt(object, 'spec', 'targetPorts').map((port) => integerAt(port, 'number'));
  const ports = new Set<number>();
  for (const port of single === undefined ? listed : [single]) {
    if (port === undefined || port < 1 || port > 65_535 || ports.has(port)) return undefined;
    ports.add(port);
  }
  return ports.size === 0 || ports.size > MAX_TARGET_PORTS ? undefined : [...ports];
}

/** Whether it is being deleted: gateways and pickers no longer follow it then. */
export function isPoolLeaving(object: unknown): boolean {
  return textAt(object, 'metadata', 'deletionTimestamp') !== undefined;
}
