import { describe, expect, it } from 'vitest';
import { found } from '../support.js';

describe('a vLLM without a hash seed beside one that has it', () => {
  const beside = (flags: string): readonly string[] =>
    found({
      'compose.yaml': `services:
  p:
    image: vllm/vllm-openai:v0.19.0
    environment: {PYTHONHASHSEED: "0"}
    command: --model m --kv-transfer-config '{"kv_connector":"MultiConnector","kv_role":"kv_producer"}'
  d:
    image: vllm/vllm-openai:v0.19.0
    command: --model m ${flags}
`,
    });
  const transfer = (connector: string, more = ''): string =>
    `--kv-transfer-config '{"kv_connector":"${connector}","kv_role":"kv_consumer"${more}}'`;

  it.each([
    ['a store', transfer('LMCacheConnectorV1')],
    ['several connectors', transfer('MultiConnector')],
    ['a connector that nobody knows', transfer('SomeConnector')],
    [
      'a store behind a transfer',
      transfer('HybridConnector', ',"kv_connector_extra_config":{"backend":"kvs+kvt"}'),
    ],
    ['events', `${transfer('NixlConnector')} --kv-events-config '{"enable_kv_cache_events":true}'`],
  ])('has other hashes than it in %s', (_, flags) => {
    expect(beside(flags)).toEqual(['hash-seed-differs compose.yaml:7 warning']);
  });

  it.each([
    ['nothing', ''],
    ['a connector that hands blocks over', transfer('NixlConnector')],
    ['the same of Llumnix', transfer('HybridConnector', ',"kv_connector_extra_config":{"backend":"kvt"}')],
  ])('shows its hashes to nobody with %s', (_, flags) => {
    expect(beside(flags)).toEqual([]);
  });
});
