import { CACHE_USES, type RouteRequest, type Usage } from '../../fleet/router/routing.js';
import { canBeSent, type ThreadMessage } from './messages.js';
import type { MetricSnapshot, MetricsSnapshot } from './metrics-snapshot.js';
import { MAX_BATCH } from './outbox.js';

/** Targets that one request excludes: more than a fleet has. */
const MAX_EXCLUDED = 16_384;
/** Texts that are no name: reasons of an operator's mistake. */
const MAX_TEXT_CHARS = 64 * 1024;
/** Metrics of one process, and series of one metric. */
const MAX_METRICS = 256;
const MAX_SERIES = 65_536;

/** As all metrics of the product are named. */
const METRIC_NAME = /^kv_accord_[a-z_]{1,128}$/;
const LABEL_NAME = /^[a-z_]{1,64}$/;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads what a process that serves HTTP said. It faces the network, and this
 * side holds the gate and every reservation, so nothing of it is believed
 * unseen: undefined for a batch that is not one.
 */
export function readThreadMessages(batch: unknown): readonly ThreadMessage[] | undefined {
  if (!Array.isArray(batch) || batch.length > MAX_BATCH) return undefined;
  return batch.every(isThreadMessage) ? (batch as ThreadMessage[]) : undefined;
}

function isThreadMessage(message: unknown): boolean {
  if (!isFields(message)) return false;
  switch (message['type']) {
    case 'hello':
      return true;
    case 'listening':
      return isText(message['address']);
    case 'unable':
      return isText(message['message']) && typeof message['isSetting'] === 'boolean';
    case 'route':
      return isCount(message['id']) && isRequest(message['request']);
    case 'prefill_done':
      return isCount(message['id']);
    case 'progress':
      return isCount(message['id']) && isCount(message['outputTokens']);
    case 'release':
      return isCount(message['id']) && (message['usage'] === undefined || isUsage(message['usage']));
    case 'metrics':
      return isCount(message['id']) && isSnapshot(message['metrics']);
    case 'ask_page':
      return isCount(message['id']) && isText(message['accept']);
    default:
      return false;
  }
}

function isRequest(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { group, tokens, loraName, cacheSalt, cacheUse, excluded } = value as Record<
    keyof RouteRequest,
    unknown
  >;
  if (typeof group !== 'string' || typeof loraName !== 'string' || typeof cacheSalt !== 'string')
    return false;
  if (tokens !== undefined && !(tokens instanceof Uint32Array)) return false;
  if (cacheUse !== undefined && !CACHE_USES.some((use) => use === cacheUse)) return false;
  if (!Array.isArray(excluded) || excluded.length > MAX_EXCLUDED || !excluded.every(isText)) return false;
  return canBeSent({ group, tokens, loraName, cacheSalt, excluded });
}

/** What an engine says may be any number; the router looks at whether it can be true. */
function isUsage(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { promptTokens, cachedTokens, outputTokens } = value as Record<keyof Usage, unknown>;
  return (
    typeof promptTokens === 'number' &&
    [cachedTokens, outputTokens].every((count) => count === undefined || typeof count === 'number')
  );
}

function isSnapshot(value: unknown): value is MetricsSnapshot {
  return Array.isArray(value) && value.length <= MAX_METRICS && value.every(isMetric);
}

function isMetric(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { name, help, type, values } = value as Record<keyof MetricSnapshot, unknown>;
  return (
    typeof name === 'string' &&
    METRIC_NAME.test(name) &&
    isText(help) &&
    (type === 'counter' || type === 'gauge' || type === 'histogram') &&
    Array.isArray(values) &&
    values.length <= MAX_SERIES &&
    values.every(isSeries)
  );
}

function isSeries(series: unknown): boolean {
  if (!isFields(series)) return false;
  const { value, labels, metricName } = series;
  return (
    typeof value === 'number' &&
    isFields(labels) &&
    Object.entries(labels).every(
      ([name, label]) => LABEL_NAME.test(name) && (isText(label) || typeof label === 'number'),
    ) &&
    (metricName === undefined || (typeof metricName === 'string' && METRIC_NAME.test(metricName)))
  );
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT_CHARS;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
