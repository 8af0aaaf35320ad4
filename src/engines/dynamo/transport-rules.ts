import { fieldOf } from '../diagnosis/log-fields.js';
import type { LogFindings } from '../diagnosis/log-findings.js';
import type { LogLine } from '../diagnosis/log-line.js';
import type { LogRule } from '../diagnosis/log-rule.js';
import type { Side } from '../diagnosis/sighting-words.js';

/** Lines in which Dynamo says by what transport KV events go from its workers to its routers: 0.8 to 1.6. */
export const TRANSPORT_RULES: readonly LogRule[] = [
  // 0.8 to 1.2.
  transport('KV Router using NATS Core subscription', 'NATS, pushed without storage'),
  transport('enabled, using NATS Core subscription', 'NATS, pushed without storage'),
  // With a capital letter from 1.3 on.
  transport('sing JetStream subscription', 'NATS JetStream, stored'),
  transport('KV Router using ZMQ event plane subscription', 'ZMQ, from each worker'),
  // 1.3 to 1.6.
  transport('Using direct-ZMQ KV event ingress', 'ZMQ, from each worker'),
  transport('Using brokered-ZMQ KV event ingress', 'ZMQ, over a broker'),
  {
    // "EventPublisher registered with discovery (direct mode) topic=kv-events transport=Zmq publisher_id=8".
    needle: 'EventPublisher registered with discovery',
    read(line, found) {
      if (fieldOf(line.text, 'topic') !== 'kv-events') return;
      const kind = fieldOf(line.text, 'transport')?.toUpperCase();
      if (kind !== undefined) add(line, found, 'worker', kind, 'transport=');
    },
  },
];

function transport(needle: string, value: string): LogRule {
  return { needle, read: (line, found) => add(line, found, 'frontend', value, needle) };
}

function add(line: LogLine, found: LogFindings, side: Side, value: string, about: string): void {
  found.addSetting(line, 'event_transport', { side, value, about });
}
