import { describe, expect, it } from 'vitest';
import { inspect } from '../support.js';

/** A script that starts TensorRT-LLM with an engine's file. */
function script(lines: string): string {
  return `cat > agg.yaml <<EOT
${lines}
EOT
trtllm-serve Q/Q --extra_llm_api_options agg.yaml
`;
}

const found = (lines: string): readonly string[] =>
  inspect({ 'a.sh': script(lines) }).findings.map(
    ({ ruleId, line, severity, advice }) => `${ruleId} ${line} ${severity} ${/\d+/.exec(advice)?.[0] ?? ''}`,
  );

describe('the transfer buffer of TensorRT-LLM', () => {
  const transfer = (tokens: string): string =>
    `cache_transceiver_config:\n  backend: DEFAULT\n  max_tokens_in_buffer: ${tokens}`;

  it('holds a whole number of blocks', () => {
    expect(found(transfer('6500'))).toEqual(['transfer-buffer-size 4 warning 6528']);
    expect(found(`kv_cache_config:\n  tokens_per_block: 64\n${transfer('6528')}`)).toEqual([]);
    expect(found(`kv_cache_config:\n  tokens_per_block: 128\n${transfer('2112')}`)).toEqual([
      'transfer-buffer-size 6 warning 2176',
    ]);
  });

  it.each([
    transfer('8192'),
    transfer('$BUFFER'),
    transfer('null'),
    'cache_transceiver_config:\n  max_tokens_in_buffer: 6500',
    'kv_cache_config:\n  tokens_per_block: $SIZE\ncache_transceiver_config:\n  backend: UCX\n  max_tokens_in_buffer: 6500',
  ])('is right, or not known: %j', (lines) => {
    expect(found(lines)).toEqual([]);
  });
});
