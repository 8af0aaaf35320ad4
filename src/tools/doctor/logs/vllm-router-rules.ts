import { fieldOf, sizeOf } from '../../../engines/diagnosis/log-fields.js';
import { type LogRule, rule } from '../../../engines/diagnosis/log-rule.js';

/** Lines of vLLM's router in Rust about what it asks KV events with (src/kv_index/discovery.rs, 0.1.17). */
export const VLLM_ROUTER_RULES: readonly LogRule[] = [
  // "using configured static KV event sources worker_url="http://10.0.0.7:8000" model=m block_size=16 ranks=1": it compares the number with no event.
  rule('using configured static KV event sources', (line, found) => {
    const about = 'block_size=';
    found.addSetting(line, 'program', { side: 'router', value: 'vllm-router', about: 'KV event sources' });
    found.addSize(line, {
      side: 'router',
      who: fieldOf(line.text, 'model'),
      tokensPerBlock: sizeOf(fieldOf(line.text, 'block_size')),
      basis: 'in_use',
      about,
    });
  }),
];
