import { type LogRule, rule, signalWithRest } from '../../../../engines/diagnosis/log-rule.js';

/** What an address of KV events lacks, as the beginning of a value of the sign `publisher_failed`. */
export const NO_EVENT_ADDRESS = 'the address of its events is none';
/** A publisher of Mooncake's master, by the same. */
export const OF_MOONCAKE = "Mooncake's master";

/** Lines of publishers of KV events that several engines and stores have in common. */
export const PUBLISHER_RULES: readonly LogRule[] = [
  // The thread that hands events out: TensorRT-LLM's `dispatch_kv_cache_events_thread`, `publish_kv_cache_events_thread` of Dynamo's
  // workers. "Thread dispatch_kv_cache_events_thread stopped." is an end without a fault.
  rule('_kv_cache_events_thread: ', (line, found) => {
    const [, thread, error] =
      /Error in thread (\w{1,40}_kv_cache_events_thread): ([^\n]{1,140})/.exec(line.text) ?? [];
    if (thread === undefined) return;
    found.addSignal('publisher_failed', line, {
      value: `${thread}: ${error}`,
      about: `Error in thread ${thread}`,
    });
  }),
  // TensorRT-LLM from 1.3 on, with a publisher of its own.
  rule(' streaming KV event batch', (line, found) => {
    const about = ' streaming KV event batch';
    if (line.text.includes('Failed to publish')) {
      found.addSignal('publisher_failed', line, { value: 'a batch of events is not sent', about });
    } else if (line.text.includes('Dropping')) {
      found.addSignal('events_lost', line, { value: 'the queue of its publisher is full', about });
    }
  }),
  rule('/kv_cache_events.py", line ', (line, found) => {
    if (!line.text.includes('in _socket_setup')) return;
    found.addSignal('publisher_failed', line, {
      value: 'it cannot bind its socket',
      about: 'kv_cache_events.py',
    });
  }),
  // "ValueError: Invalid endpoint: must contain 'inproc' or 'tcp'": vLLM and SGLang with more than one data-parallel rank.
  rule('Invalid endpoint: must ', (line, found) => {
    const sentence = line.text.slice(line.text.indexOf('Invalid endpoint')).slice(0, 100);
    found.addSignal('publisher_failed', line, {
      value: `${NO_EVENT_ADDRESS}: ${sentence}`,
      about: 'Invalid endpoint',
    });
  }),
  // "Unsupported KV event endpoint scheme: 'udp://*:5557'", "TCP KV event endpoint must include a port: 'tcp://*'", "KV event endpoint port exceeds 65535 for rank 3".
  rule('KV event endpoint ', (line, found) => {
    const [sentence] =
      /(?:Unsupported |TCP )?KV event endpoint (?:scheme: |must |port exceeds ).{1,80}/.exec(line.text) ?? [];
    if (sentence === undefined) return;
    found.addSignal('publisher_failed', line, {
      value: `${NO_EVENT_ADDRESS}: ${sentence}`,
      about: 'KV event endpoint',
    });
  }),
  // Mooncake's master: "kv_events: zmq_bind failed for tcp://0.0.0.0:5557: Address already in use", "kv_events enabled but backend_id is empty".
  ...['kv_events: zmq_bind failed', 'kv_events: failed to create ZMQ', 'kv_events enabled but '].map(
    (needle) =>
      rule(needle, (line, found) => {
        const sentence = line.text.slice(line.text.indexOf(needle)).slice(0, 120);
        found.addSignal('publisher_failed', line, { value: `${OF_MOONCAKE}, ${sentence}`, about: needle });
      }),
  ),
  // Dynamo: the part that joins the events of an engine and of KVBM, and a source that no router finds.
  signalWithRest('Failed to bind publisher to ', 'publisher_failed'),
  signalWithRest('Failed to advertise KV event source', 'publisher_failed'),
  signalWithRest('Fencing KV event publisher', 'publisher_failed'),
];
