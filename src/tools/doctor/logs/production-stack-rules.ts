import { type LogRule, rule } from '../../../engines/diagnosis/log-rule.js';

/** Lines of the router of vLLM's production stack in its mode `kvaware` (src/vllm_router/routers/routing_logic.py, 0.1). */
export const PRODUCTION_STACK_RULES: readonly LogRule[] = [
  // The line of a traceback whose last one is "KeyError: 'engine0'".
  rule('self.instance_id_to_ip[queried_instance_ids', (line, found) => {
    if (!line.text.includes('return ')) return;
    found.addSignal('instance_unknown', line, { about: 'instance_id_to_ip' });
  }),
];
