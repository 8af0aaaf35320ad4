import { countOf, formFor } from '../../../core/text/lists.js';
import type { StreamingApi } from '../../../edge/kubernetes/api.js';
import { KubernetesError } from '../../../edge/kubernetes/kubernetes-error.js';
import { listAll } from '../../../edge/kubernetes/list-all.js';
import { integerAt, listAt, textAt, valueAt } from '../../../edge/kubernetes/read-json.js';
import type { Clock } from '../../../edge/platform/clock.js';
import type { EvidencePart } from '../evidence.js';
import { logPart } from './logs.js';
import { notRead, outcome } from './outcomes.js';
import { POOL_VERSIONS, poolParts } from './pools.js';

export interface ClusterOptions {
  readonly namespace: string;
  /** How far back a log is read that is longer than its beginning. */
  readonly sinceSeconds: number;
  /** Lines of the end of such a log. */
  readonly tailLines: number;
}

export interface ClusterModules {
  readonly api: StreamingApi;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress?: (name: string, readBytes: number, totalBytes: number | undefined) => void;
}

/** Containers whose logs are read; a fleet's problem shows in some of them. */
const MAX_CONTAINERS = 64;
/** The beginning of a log, where programs report their settings. A log that is shorter is read whole. */
const HEAD_BYTES = 2 * 1024 * 1024;
/** Most of one log's end. */
const MAX_TAIL_BYTES = 256 * 1024 * 1024;
/** Incidents that are reported. */
const MAX_INCIDENTS = 12;

/** Signs of a program that is concerned, in names, labels, images and commands. */
const CONCERNED = /dynamo|vllm|sglang|tensorrt|trtllm|trt-llm|kv-accord|llm-d|inference/i;

/** Reasons of events that explain why a cache was lost or a worker went. */
const TELLING_EVENTS = /OOM|Evict|Unhealthy|BackOff|Killing|Preempt|FailedScheduling|NodeNotReady/;

interface Container {
  readonly pod: string;
  readonly name: string;
  readonly wasRestarted: boolean;
}

/**
 * What pods of a namespace report: the logs of their containers, those of
 * containers that ended before too, and events. Only reads, and no Secret.
 * Rejects with nothing but the signal's reason; what may not be read is reported.
 */
export async function gatherPods(
  options: ClusterOptions,
  modules: ClusterModules,
): Promise<readonly EvidencePart[]> {
  const { namespace } = options;
  const { api, signal } = modules;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}`;
  const name = `namespace ${namespace}`;
  let pods: readonly unknown[];
  try {
    pods = await listAll(api, `${path}/pods`, signal);
  } catch (error) {
    return [clusterProblem(name, error)];
  }
  const containers = containersOf(pods);
  const events = await listAll(api, `${path}/events`, signal).catch((error: unknown) => {
    if (error instanceof KubernetesError) return error;
    throw error;
  });
  const incidents = [
    ...restartsOf(pods),
    ...(events instanceof KubernetesError ? [] : eventsOf(events)),
  ].slice(0, MAX_INCIDENTS);
  const read = containers.slice(0, MAX_CONTAINERS);
  const detail = [
    countOf(pods.length, 'pod'),
    `${countOf(read.length, 'container')} of ${containers.length} that are concerned`,
    ...(events instanceof KubernetesError ? [`events were not read: ${events.message}`] : []),
    ...incidents,
  ];
  const isWhole = read.length === containers.length && !(events instanceof KubernetesError);
  const parts: EvidencePart[] = [
    { source: outcome('cluster', name, isWhole ? 'read' : 'partly_read', detail.join('; ')) },
  ];
  parts.push(...poolParts(await listPools(namespace, modules), pods));
  for (const container of read) parts.push(...(await readContainer(path, container, options, modules)));
  return parts;
}

/** Why a cluster, or a part of it, was not read. */
function clusterProblem(name: string, error: unknown): EvidencePart {
  if (!(error instanceof KubernetesError)) throw error;
  return notRead('cluster', name, error.message);
}

/**
 * Those of the first version that has any. A kind that is not there, or may not be
 * read, has none: what is refused is reported by the one that reads manifests.
 */
async function listPools(namespace: string, modules: ClusterModules): Promise<readonly unknown[]> {
  for (const version of POOL_VERSIONS) {
    const path = `/apis/${version}/namespaces/${encodeURIComponent(namespace)}/inferencepools`;
    try {
      const pools = await listAll(modules.api, path, modules.signal);
      if (pools.length > 0) return pools;
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error;
    }
  }
  return [];
}

/** Those of programs that are concerned; all of them when none is recognised. */
function containersOf(pods: readonly unknown[]): readonly Container[] {
  const all = pods.flatMap((pod) => {
    const name = textAt(pod, 'metadata', 'name');
    if (name === undefined) return [];
    const labels = JSON.stringify(valueAt(pod, 'metadata', 'labels') ?? {});
    const states = listAt(pod, 'status', 'containerStatuses');
    return listAt(pod, 'spec', 'containers').flatMap((container) => {
      const own = textAt(container, 'name');
      if (own === undefined) return [];
      const words = ['image', 'command', 'args'].map((key) => JSON.stringify(valueAt(container, key) ?? ''));
      const state = states.find((one) => textAt(one, 'name') === own);
      const wasRestarted = valueAt(state, 'lastState', 'terminated') !== undefined;
      const isConcerned = CONCERNED.test([labels, name, ...words].join(' '));
      return [{ pod: name, name: own, wasRestarted, isConcerned }];
    });
  });
  const concerned = all.filter(({ isConcerned }) => isConcerned);
  return concerned.length === 0 ? all : concerned;
}

function restartsOf(pods: readonly unknown[]): readonly string[] {
  return pods.flatMap((pod) =>
    listAt(pod, 'status', 'containerStatuses').flatMap((state) => {
      const restarts = integerAt(state, 'restartCount') ?? 0;
      if (restarts === 0) return [];
      const reason = textAt(state, 'lastState', 'terminated', 'reason') ?? 'reason not given';
      const who = `${textAt(pod, 'metadata', 'name') ?? ''}/${textAt(state, 'name') ?? ''}`;
      return [`${who} was restarted ${formFor(restarts, 'once', `${restarts} times`)} (${reason})`];
    }),
  );
}

function eventsOf(events: readonly unknown[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const event of events) {
    const reason = textAt(event, 'reason') ?? '';
    if (textAt(event, 'type') !== 'Warning' || !TELLING_EVENTS.test(reason)) continue;
    const key = `${reason} of ${textAt(event, 'involvedObject', 'name') ?? 'something'}`;
    counts.set(key, (counts.get(key) ?? 0) + Math.max(1, integerAt(event, 'count') ?? 1));
  }
  return [...counts].map(([what, count]) => `event ${what}${count === 1 ? '' : `, ${count} times`}`);
}

/** The log from its begin; when that is not all of it, its end as well; and that of the container before a restart. */
async function readContainer(
  path: string,
  { pod, name, wasRestarted }: Container,
  { sinceSeconds, tailLines }: ClusterOptions,
  modules: ClusterModules,
): Promise<readonly EvidencePart[]> {
  const log = `${path}/pods/${encodeURIComponent(pod)}/log`;
  const title = `pod ${pod}, container ${name}`;
  const ask = (
    words: string,
    query: Readonly<Record<string, string>>,
    maxBytes: number,
  ): Promise<{ readonly part: EvidencePart; readonly bytes: number }> =>
    readPart(`${title}, ${words}`, pod, log, { container: name, ...query }, maxBytes, modules);
  const parts: EvidencePart[] = [];
  const head = await ask('log', { limitBytes: String(HEAD_BYTES) }, HEAD_BYTES);
  parts.push(head.part);
  if (head.bytes >= HEAD_BYTES) {
    const query = { tailLines: String(tailLines), sinceSeconds: String(sinceSeconds) };
    const limit = { limitBytes: String(MAX_TAIL_BYTES) };
    parts.push((await ask('end of the log', { ...query, ...limit }, MAX_TAIL_BYTES)).part);
  }
  if (wasRestarted) {
    const query = { previous: 'true', tailLines: String(tailLines), limitBytes: String(MAX_TAIL_BYTES) };
    parts.push((await ask('log before its restart', query, MAX_TAIL_BYTES)).part);
  }
  return parts;
}

async function readPart(
  title: string,
  who: string,
  path: string,
  query: Readonly<Record<string, string>>,
  maxBytes: number,
  { api, clock, signal, onProgress }: ClusterModules,
): Promise<{ readonly part: EvidencePart; readonly bytes: number }> {
  let bytes = 0;
  const counting = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of api.bytes({ path, query, signal }, maxBytes)) {
      bytes += piece.length;
      yield piece;
    }
  };
  try {
    const source = { totalBytes: undefined, pieces: counting() };
    return { part: await logPart(title, source, who, { clock, signal, onProgress }), bytes };
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    return { part: notRead('log', title, error.message), bytes };
  }
}
