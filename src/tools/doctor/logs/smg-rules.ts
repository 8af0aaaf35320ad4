import type { LogFindings } from '../../../engines/diagnosis/log-findings.js';
import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import { type LogRule, rule } from '../../../engines/diagnosis/log-rule.js';
import type { Signal } from '../../../engines/diagnosis/signals.js';

/** Lines of Shepherd Model Gateway about the KV events of its workers (model_gateway/src/worker/kv_event_monitor.rs and policies/cache_aware.rs, 1.0 to 1.13). */
export const SMG_RULES: readonly LogRule[] = [
  // "… disabling KV event subscription for this worker worker_url=grpc://…": the worker was started without events, or its servicer has none.
  ofRouter('Backend does not implement SubscribeKvEvents', 'events_disabled'),
  ofRouter('KV event subscription task panicked', 'events_unreachable'),
  // "Warning: No string tree found for model 'Qwen/Qwen3-32B', using random worker selection".
  ofRouter('No string tree found for model', 'router_without_tree'),
  ofRouter('No token tree found for model', 'router_without_tree'),
];

/** A line that a router writes, of a worker where it names one. */
function ofRouter(needle: string, sign: Signal): LogRule {
  return rule(needle, (line: LogLine, found: LogFindings) => {
    const worker = /\bworker_url="?([^\s"]{1,253})/.exec(line.text)?.[1];
    found.addSetting(line, 'program', { side: 'router', value: 'smg', about: needle });
    found.addSignal(sign, line, { worker, about: needle });
  });
}
