import { sizeBehind } from '../../../engines/diagnosis/log-fields.js';
import { type LogRule, rule } from '../../../engines/diagnosis/log-rule.js';
import type { Signal } from '../../../engines/diagnosis/signals.js';
import { errorValue } from './error-value.js';

/**
 * Lines of AIBrix's gateway about the KV events that it reads from pods of vLLM
 * (pkg/cache/kvcache/zmq_client.go, 0.4 to 0.7): `E1031 06:10:26.175809 1 zmq_client.go:214] …`.
 */
export const AIBRIX_RULES: readonly LogRule[] = [
  rule('Event consumption error for ', (line, found) => {
    const [, worker, error] = /Event consumption error for (\S{1,253}): (.*)$/.exec(line.text) ?? [];
    const name = /decode|unmarshal|invalid sequence/.test(error ?? '')
      ? 'events_unreadable'
      : 'events_unreachable';
    const value =
      error === undefined ? undefined : errorValue(error.replace(/^failed to process message: /, ''));
    found.addSignal(name, line, { worker, value, about: 'Event consumption error' });
  }),
  failure('Failed to handle event from ', 'events_unreadable'),
  failure('Reconnection failed for ', 'events_unreachable'),
  failure('Failed to request initial replay for ', 'events_unreachable'),
  // "using default prefix cache block size: 16", "using AIBRIX_PREFIX_CACHE_BLOCK_SIZE env value for prefix cache block size: 32", and prefix_cache_block_size=16.
  guessSize('prefix cache block size: ', 'prefix cache block size: '),
  guessSize('"prefix_cache_hash_table_configurations"', 'prefix_cache_block_size='),
  rule(' events for ', (line, found) => {
    const [, worker] = /Missed \d{1,18} events for (\S{1,253}) \(last=/.exec(line.text) ?? [];
    if (worker !== undefined) found.addSignal('events_lost', line, { worker, about: 'Missed events' });
  }),
];

/** The block size by which the gateway guesses what pods have, where it reads no events. */
function guessSize(needle: string, about: string): LogRule {
  return rule(needle, (line, found) =>
    found.addSetting(line, 'guess_block_size', {
      side: 'router',
      value: sizeBehind(line.text, about),
      about,
    }),
  );
}

/** An error about the pod behind the needle. */
function failure(needle: string, name: Signal): LogRule {
  return rule(needle, (line, found) => {
    if (!line.text.includes('zmq_client.go')) return;
    const rest = line.text.slice(line.text.indexOf(needle) + needle.length);
    const [worker] = rest.split(':', 1);
    const value = errorValue(rest.slice((worker?.length ?? 0) + 1).trim());
    found.addSignal(name, line, { worker, value: value === '' ? undefined : value, about: needle.trim() });
  });
}
