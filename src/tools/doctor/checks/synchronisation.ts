import { countOf } from '../../../core/text/lists.js';
import { allStores, missingShare } from '../causes/routing-clues.js';
import { percent } from '../measurements/cache-hits.js';
import { sumOf } from '../metrics/metrics-page.js';
import { type Asked, answered, type Check, missing, type Reply, settingText } from './check.js';

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
      return ingress === undefined
        ? missing(
            'No line names the transport: add the log of the frontend from its start (--logs), where it says "NATS" or "ZMQ" of its KV events, or the manifests with DYN_EVENT_PLANE.',
          )
        : answered('Pushed by ZMQ: the router counts batches of it.', {
            place: ingress.name,
            text: 'dynamo_component_router_kv_zmq_ingress_batches_total',
          });
    },
  },
  { id: 'event_backlog', asks: 'Is there a backlog, or are events lost on their way?', answer: backlog },
  {
    id: 'event_latency',
    asks: 'How long do events take from the engine to the index?',
    answer: () =>
      missing(
        'No program reports it: engines stamp batches with their own clock and routers count them without a time. Send two equal prompts two seconds apart (below): found means that it is less.',
      ),
  },
  { id: 'eviction_rate', asks: 'Do removals outnumber stores?', answer: turnover },
  { id: 'hash_agreement', asks: 'Do blocks of engines and of the router match at all?', answer: agreement },
];

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
  if (gaps !== undefined || first !== undefined)
    return answered(
      `None seen: ${[
        ...(gaps === undefined ? [] : ['0 events dropped by publishers']),
        ...(first === undefined ? [] : [`${first.depth} waiting at the router`]),
      ].join(', ')}; no line of a gap.`,
      gaps?.origin ?? { place: first?.page.name ?? '', text: 'ingress_queue_depth' },
    );
  return missing(
    'No counter of queues or dropped events was seen: add --metrics http://FRONTEND:8000/metrics and --metrics http://WORKER:9090/metrics.',
  );
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
    `Of warnings alone: ${removals} of removals against ${parents} of stores${removals > 2 * parents ? '; removals outnumber stores, the cache turns over' : '; removals do not outnumber stores, which speaks against churn'}. Counters of all of them: --metrics http://FRONTEND:8000/metrics.`,
    (failedRemovals ?? failedStores)?.first,
  );
}

function agreement({ measurements }: Asked): Reply {
  const { sizes, engineHits, routerHits } = measurements;
  const [conflict] = sizes.conflicts;
  const [hit] = routerHits;
  if (conflict !== undefined)
    return answered(
      `Block sizes differ: ${conflict.ours.tokensPerBlock} (${conflict.ours.side}) and ${conflict.theirs.tokensPerBlock} (${conflict.theirs.side})${hit === undefined ? '' : `; the router found ${percent(hit.share)}`}.`,
      conflict.ours.origin,
    );
  const share = missingShare(measurements);
  if (hit === undefined && share === undefined && sizes.agreed === undefined)
    return missing(
      'Neither sizes of both sides nor hits were seen: add the metrics of frontend and engines.',
    );
  const names = engineHits === undefined ? '' : `, engines had ${percent(engineHits.share)}`;
  const parts = [
    ...(sizes.agreed === undefined ? [] : [`both use ${sizes.agreed.tokensPerBlock}`]),
    ...(hit === undefined ? [] : [`the router found ${percent(hit.share)}${names}`]),
    ...(share === undefined ? [] : [`${percent(share)} of stores lacked their parents`]),
  ];
  return answered(`${parts.join('; ')}.`, hit?.origin ?? sizes.agreed?.origins[0]);
}
