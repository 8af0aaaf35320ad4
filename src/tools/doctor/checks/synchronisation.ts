import { capitalised } from '../../../core/text/capitalised.js';
import { countOf } from '../../../core/text/lists.js';
import { allStores, missingShare } from '../causes/routing-clues.js';
import type { Origin } from '../evidence.js';
import { percent } from '../measurements/cache-hits.js';
import { courseOf, type SignalSum } from '../measurements/log-sums.js';
import type { Measurements } from '../measurements/measurements.js';
import { isFalse } from '../measurements/setting-values.js';
import { sumOf } from '../metrics/metrics-page.js';
import { type Asked, answered, type Check, missing, type Reply, settingText } from './check.js';

const WHERE_TRANSPORT =
  'add the log of the frontend from its start (--logs), where it says "NATS" or "ZMQ" of its KV events, or the manifests with DYN_EVENT_PLANE';

/** How the router learns what workers hold, and whether it keeps up. */
export const SYNCHRONISATION_CHECKS: readonly Check[] = [
  {
    id: 'event_transport',
    asks: 'How do stores and removals reach the router?',
    answer({ measurements }) {
      const found = settingText(measurements, 'event_transport');
      if (found !== undefined) return answered(`Pushed by ${found.text}.`, found.origin);
      const ingress = measurements.evidence.metrics.find(({ samples }) =>
        samples.has('dynamo_component_router_kv_zmq_ingress_batches_total'),
      );
      if (ingress !== undefined)
        return answered('Pushed by ZMQ: the router counts batches of it.', {
          place: ingress.name,
          text: 'dynamo_component_router_kv_zmq_ingress_batches_total',
        });
      const unset = unsetTransport(measurements);
      return unset === undefined
        ? missing(`No line names the transport: ${WHERE_TRANSPORT}.`)
        : answered(`${unset.text} To be sure, ${WHERE_TRANSPORT}.`, unset.origin);
    },
  },
  { id: 'event_backlog', asks: 'Is there a backlog, or are events lost on their way?', answer: backlog },
  {
    id: 'event_latency',
    asks: 'How long do events take from the engine to the index?',
    answer: latency,
  },
  { id: 'eviction_rate', asks: 'Do removals outnumber stores?', answer: turnover },
  { id: 'hash_agreement', asks: 'Do blocks of engines and of the router match at all?', answer: agreement },
];

/**
 * What applies to a Dynamo whose deployment was seen and sets no transport. The help of 1.6 has ZMQ for every kind of
 * discovery (`--event-plane`); before, it went by the kind.
 */
function unsetTransport({
  settings,
  dynamo,
}: Measurements): { readonly text: string; readonly origin: Origin } | undefined {
  const router = settings('router_uses_events').find(({ value }) => !isFalse(value));
  if (router === undefined) return undefined;
  const { version } = dynamo;
  const isNew = version !== undefined && (version.major > 1 || (version.major === 1 && version.minor >= 6));
  return {
    text: isNew
      ? 'Pushed by ZMQ, the default of this version, as nothing sets another transport.'
      : 'Pushed by workers as it happens, never polled, by the default transport of its version, as nothing sets another: ZMQ from 1.6 on; before, NATS with discovery by etcd or Kubernetes, and ZMQ with files.',
    origin: router.origin,
  };
}

function latency({ measurements }: Asked): Reply {
  const [measured] = measurements.evidence.metrics.flatMap((page) => {
    const count = sumOf(page, `${LAG}_count`) ?? 0;
    const seconds = sumOf(page, `${LAG}_sum`);
    return count === 0 || seconds === undefined ? [] : [{ page, count, seconds }];
  });
  if (measured === undefined)
    return missing(
      'No program of Dynamo or an engine reports it: engines stamp batches with their own clock and routers count them without a time. kv-accord measures it (the metric kv_accord_kv_event_lag_seconds of its sidecar or index). Without it: send two equal prompts two seconds apart (below); found means that it is less.',
    );
  const { page, count, seconds } = measured;
  return answered(
    `${((seconds / count) * 1_000).toFixed(1)} ms on the mean of ${countOf(count, 'batch', 'batches')}, by the clocks of both hosts.`,
    { place: page.name, text: `${LAG}_sum ${seconds}, ${LAG}_count ${count}` },
  );
}

/** From the engine's publishing to the index, of this product's own processes. */
const LAG = 'kv_accord_kv_event_lag_seconds';

function backlog({ measurements }: Asked): Reply {
  const { gaps, evidence } = measurements;
  const lost = measurements.signal('events_lost');
  if (lost !== undefined)
    return answered(`Events got lost: ${countOf(lost.count, 'line')} of gaps in their numbers.`, lost.first);
  if (gaps !== undefined && gaps.value > 0)
    return answered(`Publishers dropped ${countOf(gaps.value, 'event')}.`, gaps.origin);
  const queued = evidence.metrics.flatMap((page) => {
    const depth = sumOf(page, 'dynamo_component_router_active_sequence_ingress_queue_depth');
    return depth === undefined ? [] : [{ depth, page }];
  });
  const [first] = queued;
  const drained = drainText(measurements);
  if (gaps !== undefined || first !== undefined || drained !== undefined)
    return answered(
      `None seen: ${[
        ...(gaps === undefined ? [] : ['0 events dropped by publishers']),
        ...(first === undefined ? [] : [`${first.depth} waiting at the router`]),
        ...(drained === undefined ? [] : [drained.text]),
      ].join(', ')}; no line of a gap.`,
      gaps?.origin ?? drained?.origin ?? { place: first?.page.name ?? '', text: 'ingress_queue_depth' },
    );
  const counters =
    'Counters of queues and dropped events: add --metrics http://FRONTEND:8000/metrics and --metrics http://WORKER:9090/metrics';
  const log = evidence.logs.find(({ decisions }) => decisions !== undefined);
  if (log?.decisions === undefined)
    return missing(`No counter of queues or dropped events was seen. ${counters}.`);
  const { decisions, lines } = log;
  return answered(
    `No line of a gap or a lost event in ${countOf(lines, 'line')} of the router's log, as Dynamo from 0.9 on writes them. How many wait is in no log. ${counters}.`,
    decisions.last,
  );
}

/** How full the event buffer of TensorRT-LLM is as dynamo.trtllm empties it, from 1.6 on. */
function drainText(
  measurements: Measurements,
): { readonly text: string; readonly origin: Origin } | undefined {
  const room = Number(measurements.settings('kv_event_buffer_events')[0]?.value ?? Number.NaN);
  for (const page of measurements.evidence.metrics) {
    for (const prefix of ['trtllm_', 'trtllm:']) {
      const count = sumOf(page, `${prefix}kv_event_drain_batch_size_count`) ?? 0;
      const events = sumOf(page, `${prefix}kv_event_drain_batch_size_sum`) ?? 0;
      if (count === 0) continue;
      return {
        text: `${Math.round(events / count)} events in the engine's buffer on the mean when it is emptied${room > 0 ? ` (room for ${room})` : ''}`,
        origin: { place: page.name, text: `${prefix}kv_event_drain_batch_size ${events} of ${count}` },
      };
    }
  }
  return undefined;
}

function turnover({ measurements }: Asked): Reply {
  const { stores } = measurements;
  const failedRemovals = measurements.signal('block_to_remove_not_found');
  const failedStores = measurements.signal('parent_block_not_found');
  if (stores !== undefined && allStores(stores) > 0) {
    const removed = stores.removed + stores.removeMissing;
    return answered(
      `${removed} removals against ${allStores(stores)} stores (${(removed / allStores(stores)).toFixed(2)} for each).`,
      stores.origin,
    );
  }
  if (failedRemovals === undefined && failedStores === undefined)
    return missing(
      'Neither counters nor warnings were seen: add --metrics http://FRONTEND:8000/metrics, or the log of the frontend.',
    );
  const [removals, parents] = [failedRemovals?.count ?? 0, failedStores?.count ?? 0];
  return answered(
    `Of warnings alone: ${removals} of removals${rateText(failedRemovals)} against ${parents} of stores${rateText(failedStores)}${courseText(failedStores)}${removals > 2 * parents ? '; removals outnumber stores, the cache turns over' : '; removals do not outnumber stores, which speaks against churn'}. Counters of all of them: --metrics http://FRONTEND:8000/metrics.`,
    (failedRemovals ?? failedStores)?.first,
  );
}

/** How many a minute, over the time of the logs that have them; empty where lines have no time. */
function rateText(sum: SignalSum | undefined): string {
  const spans = (sum?.logs ?? []).map(({ log: { firstMs, lastMs } }) =>
    firstMs === undefined || lastMs === undefined ? 0 : lastMs - firstMs,
  );
  const minutes = Math.max(0, ...spans) / 60_000;
  return sum === undefined || minutes === 0 ? '' : ` (${(sum.count / minutes).toFixed(1)} a minute)`;
}

/** Whether warnings end; empty where the log is too short to say. */
function courseText(sum: SignalSum | undefined): string {
  const [course] = (sum?.logs ?? []).flatMap((one) => courseOf(one) ?? []);
  return course === undefined
    ? ''
    : `; ${percent(course.early)} of those of stores in the first quarter of the log and ${percent(course.late)} in the last`;
}

function agreement({ measurements }: Asked): Reply {
  const { sizes, engineHits, routerHits } = measurements;
  const [conflict] = sizes.conflicts;
  const [hit] = routerHits;
  if (conflict !== undefined)
    return answered(
      `Block sizes differ: ${conflict.ours.tokensPerBlock} (${conflict.between === 'own' ? 'what a worker registers' : conflict.ours.side}) and ${conflict.theirs.tokensPerBlock} (${conflict.between === 'own' ? 'its engine' : conflict.theirs.side})${hit === undefined ? '' : `; the router found ${percent(hit.share)}`}.`,
      conflict.ours.origin,
    );
  const share = missingShare(measurements);
  if (hit === undefined && share === undefined && sizes.agreed === undefined)
    return missing(
      'Neither sizes of both sides nor hits were seen: add the metrics of frontend and engines.',
    );
  const names = engineHits === undefined ? '' : `, engines had ${percent(engineHits.share)}`;
  const parts = [
    ...(sizes.agreed === undefined ? [] : [`both use ${sizes.agreed.numbers.join(' and ')}`]),
    ...(hit === undefined ? [] : [`the router found ${percent(hit.share)}${names}`]),
    ...(share === undefined ? [] : [`${percent(share)} of stores lacked their parents`]),
  ];
  return answered(`${capitalised(parts.join('; '))}.`, hit?.origin ?? sizes.agreed?.origins[0]);
}
