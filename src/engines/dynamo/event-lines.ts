import { digitsBehind, fieldOf, fieldOfLine, sizeOf } from '../diagnosis/log-fields.js';
import type { LogFindings } from '../diagnosis/log-findings.js';
import type { LogLine } from '../diagnosis/log-line.js';
import { type LogRule, rule, signalWithRest, workerSetting } from '../diagnosis/log-rule.js';
import { SIGN_VALUES } from '../diagnosis/sign-values.js';
import { sign, workerOf } from './named-worker.js';

/** Of a store that has no blocks any more when it arrives. */
export const NO_BLOCKS = 'num_blocks=0';

/** What Dynamo's programs say of KV events and of workers that do not fit, from 0.4 to 1.6. */
export const EVENT_RULES: readonly LogRule[] = [
  // "…; skipping store operation worker_id=7 dp_rank=0 id=5 parent_hash=Some(…) num_blocks=0": a store that a publisher left without its blocks.
  rule('Failed to find parent block', (line, tally) => {
    const isEmpty = fieldOfLine(line, 'num_blocks') === '0';
    tally.addSignal('parent_block_not_found', line, {
      worker: workerOf(line.text),
      value: isEmpty ? NO_BLOCKS : undefined,
      about: 'Failed to find parent block',
    });
  }),
  sign('Failed to find block to remove', 'block_to_remove_not_found'),
  rule('Block not published', (line, tally) => {
    const about = 'Block not published';
    const wanted = digitsBehind(line.text, 'must be ');
    const real = digitsBehind(line.text, 'Block size is: ');
    const value = wanted === undefined || real === undefined ? undefined : `${wanted} -> ${real}`;
    tally.addSignal('block_not_published', line, { worker: workerOf(line.text), value, about });
    // A worker's real number is that of a whole block; of "token_ids too short" nothing follows.
    if (value === undefined) return;
    const who = workerOf(line.text);
    const declared = sizeOf(wanted);
    // An indexer reported its own size as it started.
    if (!tally.isOfIndexer(line))
      tally.addSize(line, { side: 'worker', who, tokensPerBlock: declared, basis: 'declared', about });
    tally.addSize(line, { side: 'worker', who, tokensPerBlock: sizeOf(real), basis: 'observed', about });
  }),
  rule('Rejected incompatible workers', (line, tally) => {
    const instance = /instance=(?:Some\()?"?[^"\s)]{0,300}?([0-9a-f]{1,16})"?\)?(?:\s|$)/.exec(
      line.text,
    )?.[1];
    const checksums = ['incumbent_checksum', 'rejected_checksum'].map((name) =>
      fieldOf(line.text, name)?.slice(0, 8),
    );
    const value = checksums.every((sum) => sum !== undefined) ? checksums.join(' -> ') : undefined;
    tally.addSignal('workers_rejected', line, { worker: instance ?? '', value, about: 'Rejected' });
  }),
  // 1.1 to 1.5, and 0.6 to 1.0. The frontend that writes it does not name the worker.
  ...['Checksum for new worker does not match', 'Checksum for new model does not match'].map((about) =>
    rule(about, (line, tally) => tally.addSignal('workers_rejected', line, { worker: '', about })),
  ),
  // Up to 0.9: "KV Router block size mismatch! … model_name=m existing_block_size=16 requested_block_size=64".
  rule('KV Router block size mismatch', readRouterMismatch),
  // The indexer, with the same fields; its answer is "block_size mismatch for model=m …: existing=16, requested=32".
  rule('Block size mismatch for existing indexer', readRouterMismatch),
  rule('block_size mismatch for model', readRouterMismatch),

  // 0.9 to 1.5: "Event ID gap detected for worker 7 dp_rank 0, recovering events [3, 9], gap_size: 7".
  rule('Event ID gap detected', (line, tally) => {
    const [, worker, size] = /for worker (\d{1,20}).{0,300}?gap_size: (\d{1,20})/.exec(line.text) ?? [];
    const value = size === undefined ? undefined : `gap of ${size}`;
    tally.addSignal('events_lost', line, { worker, value, about: 'gap detected' });
  }),
  rule('Gap detected: expected seq', (line, tally) => {
    // Who begins to listen late lacks what was before: the first number is no event that got lost. "No replay endpoint
    // configured; batches lost" stands behind each of these lines, and says nothing of its own.
    if (line.text.includes('expected seq 0,')) return;
    tally.addSignal('events_lost', line, { worker: workerOf(line.text), about: 'Gap detected' });
  }),
  sign('Failed to recover gap events for worker', 'events_lost'),
  sign('raw events dropped before batching', 'events_lost'),
  sign('Event subscriber channel full; dropping event', 'events_lost'),
  sign('publisher lane is full; dropping the newest batch', 'events_lost'),
  sign('failed to recover oversized publication', 'events_lost'),
  sign('KV event queue rejected a live event', 'events_lost'),
  // dynamo.trtllm: "Non-consecutive engine event_id on rank=0: expected 4, got 9"; before 1.4 without the rank.
  rule('Non-consecutive ', (line, tally) => {
    if (!/Non-consecutive (?:engine )?event_?id/i.test(line.text)) return;
    tally.addSignal('events_lost', line, { about: 'Non-consecutive' });
  }),
  sign('KV recovery failed', 'events_lost'),
  sign('KV recovery local catch-up skipped event IDs', 'events_lost'),
  sign('KV indexer rejected event queue admission', 'events_lost'),
  // 1.6: what was fenced is not asked for again before the frontend is restarted.
  sign('rank remains fenced', 'events_lost'),
  sign('Failed to enqueue KV event', 'events_lost'),
  sign('ZMQ listener terminated unexpectedly', 'events_unreachable'),
  sign('ZMQ listener task failed unexpectedly', 'events_unreachable'),
  sign('KV-event source was not observed', 'events_unreachable'),
  rule('KV-event source registration is ambiguous', (line, tally) => {
    const about = 'KV-event source registration is ambiguous';
    const value = SIGN_VALUES.severalPublishers;
    tally.addSignal('events_unreachable', line, { worker: workerOf(line.text), value, about });
  }),
  // 1.6 looks for sources while workers start, and says of each when it is there.
  rule('KV-event source recovered', (line, tally) =>
    tally.takeBack('events_unreachable', line, workerOf(line.text)),
  ),
  signalWithRest('ZMQ listener failed to connect', 'events_unreachable'),
  signalWithRest('ZMQ listener recv failed', 'events_unreachable'),
  signalWithRest('Failed to connect ZMQ SUB socket', 'events_unreachable'),
  signalWithRest('failed to connect ZMQ SUB socket', 'events_unreachable'),
  sign('Failed to subscribe to KV-state endpoint', 'events_unreachable'),
  sign('Failed to subscribe to brokered KV events', 'events_unreachable'),
  sign('KV event-plane stream ended unexpectedly', 'events_unreachable'),
  sign('KV event stream ended unexpectedly', 'events_unreachable'),
  sign('KV state-agent attachment setup failed', 'events_unreachable'),
  sign('Failed to watch direct-ZMQ KV event channels', 'events_unreachable'),
  sign('Direct-ZMQ event-channel discovery', 'events_unreachable'),
  sign('Failed to receive RouterEvent from event plane', 'events_unreachable'),
  signalWithRest('Failed to decode KVEventBatch', 'events_unreadable'),
  signalWithRest('Failed to decode ZMQ KV batch', 'events_unreadable'),
  signalWithRest('Failed to decode KvEventBatch', 'events_unreadable'),
  signalWithRest('Failed to decode KV event batch', 'events_unreadable'),
  signalWithRest('failed to decode KV event batch', 'events_unreadable'),
  signalWithRest('Received unexpected ZMQ frame count', 'events_unreadable'),
  signalWithRest('Unexpected replay frame count', 'events_unreadable'),
  signalWithRest('Invalid sequence number byte length', 'events_unreadable'),
  ...['Failed to decode direct-ZMQ KV', 'dropping malformed direct-ZMQ', 'Dropping malformed direct-ZMQ'].map(
    (needle) => signalWithRest(needle, 'events_unreadable'),
  ),
  // dynamo.indexer, which reads the engines' own events.
  signalWithRest('Unexpected ZMQ frame count: ', 'events_unreadable'),
  signalWithRest('Invalid sequence number length: ', 'events_unreadable'),
  signalWithRest('Failed to decode replayed batch', 'events_unreadable'),
  // Those of Mooncake's master, and of an engine with KVBM.
  signalWithRest('Dropping invalid Mooncake KV event frame', 'events_unreadable'),
  rule('Failed to deserialize event batch', (line, tally) => {
    const value = /Failed to deserialize event batch: (.{1,120}?)(?: level=|$)/.exec(line.text)?.[1];
    if (!/\bk\w{1,3}_consolidator\b/.test(line.text)) return;
    const about = 'Failed to deserialize event batch';
    if (value !== undefined) tally.addSignal('events_unreadable', line, { value, about });
  }),
  // dynamo.trtllm.
  signalWithRest('Failed to publish ZMQ event', 'publisher_failed'),
  sign('No KV event publisher initialized', 'publisher_failed'),
  sign('KV event publisher not initialized', 'publisher_failed'),
  sign('Error in publishers error queue', 'publisher_failed'),
  sign('One or more KV event publishes failed', 'publisher_failed'),
  signalWithRest('Failed to publish KV event', 'publisher_failed'),
  // "Failed to publish event worker_id=7 error=…", of each event; other programs publish events too.
  rule('Failed to publish event', (line, tally) => {
    if (!/kv_router|worker_id/.test(line.text)) return;
    const about = 'Failed to publish event';
    const value = /error[=:] ?(.{1,120})/.exec(line.text)?.[1]?.trim();
    tally.addSignal('publisher_failed', line, { worker: workerOf(line.text), value, about });
  }),
  signalWithRest('Failed to create event publisher', 'publisher_failed'),
  rule('Failed to connect NatsQueue', (line, tally) =>
    tally.addSignal('control_plane_unreachable', line, {
      value: 'NATS',
      about: 'Failed to connect NatsQueue',
    }),
  ),
  // Whatever else the publisher's own module says at this level.
  // In lines of JSON level and module stand behind the message.
  rule('dynamo_llm::kv_router::publisher', (line, tally) => {
    const sentence =
      /\bERROR dynamo_llm::kv_router::publisher(?:::\w+)*: (.{1,120})/.exec(line.text)?.[1] ??
      /^(?!\d{4}-)(.{1,120}?) level=ERROR\b/.exec(line.text)?.[1] ??
      '';
    if (sentence === '' || OF_OTHERS.test(sentence)) return;
    tally.addSignal('publisher_failed', line, { value: sentence.trim(), about: sentence.slice(0, 40) });
  }),
  // 1.6: "--durable-kv-events requires NATS event plane, but runtime is configured for Zmq".
  rule('--durable-kv-events requires', (line, tally) => {
    const about = '--durable-kv-events requires';
    const value = line.text.slice(line.text.indexOf(about)).slice(0, MAX_SENTENCE_CHARS);
    tally.addSignal('settings_refused', line, { value, about });
  }),
  // dynamo.trtllm: "Block 12 contains 64 tokens, which is greater than kv_block_size 32".
  rule('which is greater than kv_block_size', (line, tally) => {
    const wanted = digitsBehind(line.text, 'greater than kv_block_size ');
    const found = digitsBehind(line.text, ' contains ');
    const about = 'which is greater than kv_block_size';
    tally.addSetting(line, 'backend', { side: 'worker', value: 'trtllm', about });
    // A block that is not yet full has fewer tokens; TensorRT-LLM's sizes are powers of two.
    const real = isPowerOfTwo(sizeOf(found)) ? found : undefined;
    const value = wanted === undefined || real === undefined ? undefined : `${wanted} -> ${real}`;
    tally.addSignal('block_not_published', line, { value, about });
    tally.addSize(line, { side: 'worker', tokensPerBlock: sizeOf(wanted), basis: 'declared', about });
    tally.addSize(line, { side: 'worker', tokensPerBlock: sizeOf(real), basis: 'observed', about });
  }),
  sign('KV-event publishing is disabled', 'events_disabled'),
  sign('KV event publishing skipped', 'events_disabled'),
  sign('User provided --kv_events_config which set', 'events_disabled'),
  sign('publish_kv_events is disabled', 'events_disabled'),
  sign('no KV events will be published', 'events_disabled'),
  sign('enable_block_reuse is set to false', 'events_disabled'),
  sign('skipping KV event publishers', 'events_disabled'),
  sign('No kv_events_config required: prefix caching is disabled', 'events_disabled'),
  workerSetting('No kv_events_config required: prefix caching is', 'prefix_caching', 'false'),
  workerSetting('kv_cache_config.enable_block_reuse is set to false', 'prefix_caching', 'false'),
  rule('Adding worker WorkerWithDpRank', (line, tally) =>
    tally.addSignal('worker_added', line, { worker: workerOf(line.text), about: 'Adding worker' }),
  ),
  rule('Removing worker WorkerWithDpRank', (line, tally) =>
    tally.addSignal('worker_removed', line, { worker: workerOf(line.text), about: 'Removing worker' }),
  ),
];

const MAX_SENTENCE_CHARS = 120;

/** What the publisher's module says of its sources and of NATS has rules of its own, and what ends because it is stopped is no fault. */
const OF_OTHERS = /ZMQ|decode|subscri|state.agent|NatsQueue|publish event|cancel|shut/i;

/**
 * A router that exists has one number, and a worker asks for another. The
 * router goes on with its own, which is that of the first worker.
 */
function readRouterMismatch(line: LogLine, tally: LogFindings): void {
  const { text } = line;
  const existing = digitsBehind(text, 'existing_block_size=') ?? digitsBehind(text, 'existing=');
  const requested = digitsBehind(text, 'requested_block_size=') ?? digitsBehind(text, 'requested=');
  const who = ['model_name', 'component', 'endpoint', 'model'].flatMap(
    (name) => fieldOf(text, name) ?? [],
  )[0];
  const value = existing === undefined || requested === undefined ? undefined : `${existing} -> ${requested}`;
  const about = 'lock size mismatch';
  tally.addSignal('router_size_mismatch', line, { worker: who, value, about });
  const side = text.includes('KV Router') ? 'frontend' : 'indexer';
  tally.addSize(line, { side, who: '', tokensPerBlock: sizeOf(existing), basis: 'in_use', about });
  tally.addSize(line, { side: 'worker', who, tokensPerBlock: sizeOf(requested), basis: 'declared', about });
}

function isPowerOfTwo(value: number | undefined): boolean {
  return value !== undefined && Number.isInteger(Math.log2(value));
}
