import { readEngineConfig } from '../config/engine-config.js';
import type { WorkerFacts } from '../facts/worker-facts.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { isAtLeast } from '../launches/dynamo-version.js';
import { nameOf } from '../launches/launch.js';

const rule: Rule = {
  id: 'transfer-buffer-size',
  severity: 'error',
  summary: 'A TensorRT-LLM worker has a transfer buffer that is no whole number of blocks.',
  explanation:
    'The engine ends when it starts: "Assertion failed: maxNumTokens.value() % tokensPerBlock == 0" (cacheTransBuffer.cpp).',
};

/** `cache_transceiver_config.max_tokens_in_buffer` that `tokens_per_block` does not divide. The number reaches the check from TensorRT-LLM 1.2 on. */
export const transferBufferSize: LintRule = {
  rule,
  check: ({ workers }) => workers.flatMap(checkWorker),
};

function checkWorker({ launch, engine }: WorkerFacts): readonly Finding[] {
  const { transferBackend, maxTokensInBuffer } = readEngineConfig(launch);
  const text = maxTokensInBuffer?.value ?? '';
  if (maxTokensInBuffer === undefined || transferBackend === undefined || engine === undefined) return [];
  if (!/^\d{1,9}$/.test(text) || Number(text) % engine.tokens === 0) return [];
  const { tokens } = engine;
  const above = Math.ceil(Number(text) / tokens) * tokens;
  // Seen with the image of Dynamo 0.8 (TensorRT-LLM 1.2.0rc6).
  const isKnown = launch.version !== undefined && isAtLeast(launch.version, 0, 8);
  return [
    findingAt(rule, maxTokensInBuffer.span, {
      severity: isKnown ? 'error' : 'warning',
      message: `${nameOf(launch)} has a transfer buffer of ${text} tokens (max_tokens_in_buffer), and its blocks have ${tokens} (${engine.setting?.name ?? 'tokens_per_block, by default'})`,
      consequence: isKnown
        ? rule.explanation
        : `${rule.explanation} TensorRT-LLM before 1.2 does not look at the number.`,
      advice: `Set max_tokens_in_buffer to ${above}, the next multiple of ${tokens}.`,
      related:
        engine.setting === undefined
          ? []
          : [{ span: engine.setting.span, says: `${engine.setting.name} is ${tokens}` }],
    }),
  ];
}
