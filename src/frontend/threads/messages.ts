import type { HttpAnswer } from '../../edge/http/answer.js';
import { isCount, isJsonObject } from '../../edge/platform/data/json-object.js';
import type { MetricSnapshot, MetricsSnapshot } from './metrics-snapshot.js';

/*
 * What the first process and those that serve HTTP say to each other beside
 * their routes, for which they use `kvaccord.v1.Router`.
 */

/** What an HTTP process has to know before it serves: its environment carries it. */
export interface Assignment {
  /** Its number, from 1 on. */
  readonly thread: number;
  /** Of the OpenAI server. */
  readonly port: number;
  /** Of the status page: `127.0.0.1:9463`; absent where there is none. */
  readonly statusAddress?: string;
  /** Where the first process serves `kvaccord.v1.Router`: `unix:/path`; absent where the router is elsewhere. */
  readonly router?: string;
}

/** What an HTTP process reports. */
export type ProcessReport =
  /** It serves there: `127.0.0.1:8000`. */
  | { readonly type: 'listening'; readonly address: string }
  /** It cannot serve, and ends. `isSetting`: a setting is wrong. */
  | { readonly type: 'unable'; readonly message: string; readonly isSetting: boolean }
  /** Its own metrics. */
  | { readonly type: 'metrics'; readonly id: number; readonly metrics: MetricsSnapshot }
  /** It wants the page of `/metrics`, in the form that `accept` names. */
  | { readonly type: 'ask_page'; readonly id: number; readonly accept: string };

/** What an HTTP process is asked to do. */
export type ProcessOrder =
  | { readonly type: 'ask_metrics'; readonly id: number }
  | { readonly type: 'page'; readonly id: number; readonly answer: HttpAnswer }
  /** No new requests; the process ends when those that run have ended. */
  | { readonly type: 'drain' };

/** Longest text: an error with the reasons of an operator's mistake. */
const MAX_TEXT_CHARS = 64 * 1024;
/** Metrics of one process, and series of one metric. */
const MAX_METRICS = 256;
const MAX_SERIES = 65_536;

/** As all metrics of the product are named. */
const METRIC_NAME = /^kv_accord_[a-z_]{1,128}$/;
const LABEL_NAME = /^[a-z_]{1,64}$/;

/**
 * Reads what an HTTP process reports. It faces the network, and the first
 * process shows its metrics to others, so nothing is taken unchecked: undefined
 * for what is no report.
 */
export function readReport(message: unknown): ProcessReport | undefined {
  return isReport(message) ? message : undefined;
}

function isReport(message: unknown): message is ProcessReport {
  if (!isJsonObject(message)) return false;
  switch (message['type']) {
    case 'listening':
      return isText(message['address']);
    case 'unable':
      return isText(message['message']) && typeof message['isSetting'] === 'boolean';
    case 'metrics':
      return isCount(message['id']) && isSnapshot(message['metrics']);
    case 'ask_page':
      return isCount(message['id']) && isText(message['accept']);
    default:
      return false;
  }
}

function isSnapshot(value: unknown): value is MetricsSnapshot {
  return Array.isArray(value) && value.length <= MAX_METRICS && value.every(isMetric);
}

function isMetric(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
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
  if (!isJsonObject(series)) return false;
  const { value, labels, metricName } = series;
  return (
    typeof value === 'number' &&
    isJsonObject(labels) &&
    Object.entries(labels).every(
      ([name, label]) => LABEL_NAME.test(name) && (isText(label) || typeof label === 'number'),
    ) &&
    (metricName === undefined || (typeof metricName === 'string' && METRIC_NAME.test(metricName)))
  );
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT_CHARS;
}
