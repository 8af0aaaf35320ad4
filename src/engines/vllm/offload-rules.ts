import { digitsBehind } from '../diagnosis/log-fields.js';
import { type LogRule, rule, signal, workerSetting } from '../diagnosis/log-rule.js';
import { SIGN_VALUES } from '../diagnosis/sign-values.js';

/** Lines of the caches behind vLLM that lose blocks, have no room for them, or find none of other engines: LMCache 0.2 to 0.5, Mooncake's store in vLLM and vllm-ascend. */
export const OFFLOAD_RULES: readonly LogRule[] = [
  // "The number of retrieved tokens is less than the expected number of tokens! This should not happen!"
  failing('number of retrieved tokens is less than the', 'LMCache gives less than it lists'),
  failing('The cache block is in the storage, but it can', 'LMCache gives less than it lists'),
  failing('Some keys not found during retrieve', 'LMCache gives less than it lists'),
  // "Failed to allocate memory for the KV cache.", and on the next line "The KV cache will not be stored."
  failing('Failed to allocate memory for the KV cache', SIGN_VALUES.lmcacheFull),
  // 0.2 to 0.3: "Failed to allocate memory for tensor(torch.Size([2, 80, 256, 256]), torch.bfloat16) because no memory is available".
  // At the level of debugging, later, another chunk is evicted for it: "No eviction candidates" where there is none.
  rule('Failed to allocate memory for tensor(', (line, found) => {
    if (/LMCache DEBUG\b.{0,300}no memory is available/.test(line.text)) return;
    found.addSignal('offload_failed', line, {
      value: SIGN_VALUES.lmcacheFull,
      about: 'Failed to allocate memory for tensor(',
    });
  }),
  failing('Failed to allocate memory during remote receive', SIGN_VALUES.lmcacheFull),
  failing('No eviction candidates found in local cpu backend', SIGN_VALUES.lmcacheFull),
  // vllm-ascend: "Failed to get 6722 keys out of 6722. error_codes=[-707]. Check key existence and memory state."
  rule('Check key existence and memory state', (line, found) => {
    if (digitsBehind(line.text, 'Failed to get ') === undefined) return;
    found.addSignal('offload_failed', line, {
      value: 'Mooncake gives less than it lists',
      about: 'Failed to get',
    });
  }),
  // "Failed to get 12 Mooncake keys from sub-batch (batch_keys=64, …)", "Failed to get Mooncake sub-batch ['…'], error: …".
  // "Centralized cache sharing detected but PYTHONHASHSEED not set. For consistent caching, set: export PYTHONHASHSEED=0 …".
  signal('Centralized cache sharing detected but PYTHONHASHSEED', 'hashes_differ'),
  signal('P/D Disaggregation detected but PYTHONHASHSEED', 'hashes_differ'),
  workerSetting('Using builtin hash without PYTHONHASHSEED set', 'hash_seed', 'random'),
  failing('Mooncake keys from sub-batch', 'Mooncake gives less than it lists'),
  failing('Failed to get Mooncake sub-batch', 'Mooncake gives less than it lists'),
  // vLLM 0.33: "Async Mooncake lookup failed for cmpl-1: …", "Failed to check boundary-state keys for request cmpl-1: …".
  failing('Async Mooncake lookup failed for ', 'Mooncake is not reached'),
  failing('Failed to check boundary-state keys for ', 'Mooncake is not reached'),
];

function failing(needle: string, value: string): LogRule {
  return rule(needle, (line, found) => found.addSignal('offload_failed', line, { value, about: needle }));
}
