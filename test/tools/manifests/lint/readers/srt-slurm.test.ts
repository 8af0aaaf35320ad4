import { describe, expect, it } from 'vitest';
import { found, inspect } from '../support.js';

const PAIR = `resources: {prefill_workers: 2, decode_workers: 1}
backend:
  type: sglang
  sglang_config:
    prefill: {page-size: 64, kv-cache-dtype: fp8_e4m3, disaggregation-transfer-backend: nixl}
    decode: {page-size: 64, kv-cache-dtype: fp8_e4m3, disaggregation-transfer-backend: nixl}
`;

/** A recipe whose frontend routes by KV cache; lines of the frontend and of Dynamo are three and one. */
function recipe(rest: string, { mode = 'kv', dynamo = '{version: 1.3.0}', model = 'x' } = {}): string {
  return `model: {path: "hf:a/m", container: "${model}", precision: fp4}
dynamo: ${dynamo}
frontend:
  type: dynamo
  args: {router-mode: "${mode}"}
${rest}`;
}

describe('a recipe of srtctl', () => {
  it('is one deployment: a router by KV events and workers that publish none', () => {
    expect(found({ 'a.yaml': recipe(PAIR) })).toEqual(['kv-events-off a.yaml:10 error']);
    const [finding] = inspect({ 'a.yaml': recipe(PAIR) }).findings;
    expect(finding?.advice).toBe('Set kv_events_config: {prefill: true} below backend.');
    expect(finding?.fix).toBeUndefined();
  });

  it.each([
    ['events for both roles', recipe(`${PAIR}  kv_events_config: true\n`)],
    ['events for the role that the router chooses', recipe(`${PAIR}  kv_events_config: {prefill: true}\n`)],
    [
      'its own configuration of events',
      recipe(`${PAIR}  kv_events_config: {prefill: {publisher: zmq, topic: other}}\n`),
    ],
    ['a router that goes by load', recipe(PAIR, { mode: 'round-robin' })],
    ['a router that goes by chance', recipe(PAIR).replace('"kv"', 'kv, router-temperature: "10000000"')],
    ['a router that reads none', recipe(PAIR).replace('"kv"', 'kv, no-kv-events: true')],
    ['a frontend that is no program of Dynamo', recipe(PAIR).replace('type: dynamo', 'type: vllm')],
  ])('is healthy with %s', (_what, text) => {
    expect(found({ 'a.yaml': text })).toEqual([]);
  });

  it('is no KV events of decode workers alone, nor of those that are switched off', () => {
    expect(found({ 'a.yaml': recipe(`${PAIR}  kv_events_config: {decode: true}\n`) })).toHaveLength(1);
    expect(found({ 'a.yaml': recipe(`${PAIR}  kv_events_config: false\n`) })).toHaveLength(1);
  });

  it('has aggregated workers for which the events of a pair are not asked', () => {
    const workers = (events: string): string =>
      recipe(
        `resources: {agg_workers: 2}\nbackend:\n  type: vllm\n  kv_events_config: ${events}\n  vllm_config: {aggregated: {block-size: 64}}\n`,
      );
    expect(found({ 'a.yaml': workers('true') })).toEqual(['kv-events-off a.yaml:10 error']);
    expect(found({ 'a.yaml': workers('{aggregated: true}') })).toEqual([]);
  });

  it('is said less of where the router has one worker', () => {
    const one = recipe(PAIR.replace('prefill_workers: 2', 'prefill_workers: 1'));
    expect(found({ 'a.yaml': one })).toEqual(['kv-events-off a.yaml:10 note']);
    const sticky = one.replace('"kv"', 'kv, router-session-affinity-ttl-secs: "3600"');
    expect(inspect({ 'a.yaml': sticky }).findings[0]?.consequence).toContain('first request of each session');
    expect(found({ 'a.yaml': one.replace('{page-size', '{data-parallel-size: 8, page-size') })).toEqual([
      'kv-events-off a.yaml:10 warning',
    ]);
  });

  it('has a pair that must share what engines share', () => {
    const text = recipe(PAIR, { mode: 'random' });
    expect(found({ 'a.yaml': text.replace('decode: {page-size: 64', 'decode: {page-size: 32') })).toEqual([
      'pair-settings a.yaml:11 error',
    ]);
    expect(found({ 'a.yaml': text.replace(/(decode: .*): nixl/, '$1: mooncake') })).toEqual([
      'pair-settings a.yaml:11 error',
    ]);
  });

  it('has the YAML of TensorRT-LLM in it', () => {
    const workers = (publishes: boolean, reuse: boolean): string =>
      recipe(
        `resources: {prefill_workers: 3, decode_workers: 1}
backend:
  type: trtllm
  publish_events_and_metrics: ${publishes}
  trtllm_config:
    prefill:
      enable_attention_dp: false
      kv_cache_config:
        enable_block_reuse: ${reuse}
        tokens_per_block: 32
    decode: {kv_cache_config: {tokens_per_block: 32}}
`,
        { dynamo: '{install: false}', model: 'nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:0.7.0.post2' },
      );
    expect(found({ 'a.yaml': workers(true, false) })).toEqual(['prefix-caching-off a.yaml:14 error']);
    expect(found({ 'a.yaml': workers(false, true) })).toEqual(['kv-events-off a.yaml:11 error']);
    expect(found({ 'a.yaml': workers(true, true) })).toEqual([]);
    expect(
      found({ 'a.yaml': workers(true, true).replace('{tokens_per_block: 32}', '{tokens_per_block: 64}') }),
    ).toContain('pair-settings a.yaml:16 error');
  });

  it('says nothing of a card before a router that goes by load', () => {
    const text = (mode: string): string =>
      recipe(
        `resources: {agg_workers: 1}\nbackend:\n  type: trtllm\n  trtllm_config: {aggregated: {kv_cache_config: {tokens_per_block: 128}}}\n`,
        { mode },
      );
    expect(found({ 'a.yaml': text('round-robin') })).toEqual([]);
    expect(found({ 'a.yaml': text('kv') })).toContain('worker-card-differs a.yaml:9 error');
  });

  it('follows anchors and merge keys', () => {
    const text = recipe(
      `resources: {prefill_workers: 1, decode_workers: 1}
backend:
  type: sglang
  sglang_config:
    prefill: &both
      page-size: &size 64
      disaggregation-transfer-backend: nixl
    decode:
      <<: *both
      page-size: 32
`,
      { mode: 'random' },
    );
    expect(found({ 'a.yaml': text })).toEqual(['pair-settings a.yaml:15 error']);
    expect(found({ 'a.yaml': text.replace('page-size: 32', 'page-size: *size') })).toEqual([]);
  });

  it('may be a base with variants, each by itself', () => {
    const base = `base:\n${recipe(PAIR, { mode: 'random' }).replace(/^/gm, '  ')}\n`;
    expect(found({ 'a.yaml': base })).toEqual([]);
    expect(found({ 'a.yaml': `${base}override_kv: {frontend: {args: {router-mode: kv}}}\n` })).toEqual([
      'kv-events-off a.yaml:11 error',
    ]);
    const sizes = 'zip_override_b: {backend: {sglang_config: {decode: {page-size: [64, 16]}}}}\n';
    expect(found({ 'a.yaml': `${base}${sizes}` })).toEqual(['pair-settings a.yaml:14 error']);
  });

  it('may be of the second layout', () => {
    const text = (kvEvents: string): string => `schema: 2
model: {path: "hf:a/m", container: x, precision: fp4}
dynamo: {source: {pypi: 1.2.1}}
frontend: {type: dynamo, args: {router-mode: kv}}
engine: {type: vllm, connector: nixl}
roles:
  prefill: {workers: 2, args: {block-size: 64}${kvEvents}}
  decode: {workers: 2, args: {block-size: 64}}
`;
    expect(found({ 'a.yaml': text('') })).toEqual(['kv-events-off a.yaml:7 error']);
    expect(inspect({ 'a.yaml': text('') }).findings[0]?.advice).toBe(
      'Set kv_events: true below roles.prefill.',
    );
    expect(found({ 'a.yaml': text(', kv_events: true') })).toEqual([]);
    expect(found({ 'a.yaml': text('').replace('{type: vllm, connector: nixl}', 'vllm') })).toHaveLength(1);
  });

  it('is named where its frontend or its engine is not known', () => {
    const named = (text: string): readonly string[] =>
      inspect({ 'a.yaml': text }).notChecked.map(({ program, reason }) => `${program}: ${reason}`);
    expect(named(recipe(PAIR).replace('type: dynamo', 'type: llm-d'))).toEqual([
      'sglang: no router is beside it in these files',
      'frontend llm-d of srtctl: no rule knows it',
    ]);
    const other = PAIR.replace('type: sglang', 'type: tokenspeed').replace(
      'sglang_config',
      'tokenspeed_config',
    );
    expect(named(recipe(other))).toEqual([
      'engine tokenspeed of srtctl: no rule knows it',
      'dynamo.frontend: no worker is beside it in these files',
    ]);
  });

  it('does not know what installs another Dynamo', () => {
    const silent = `resources: {agg_workers: 2}\nbackend:\n  type: vllm\n  vllm_config: {aggregated: {}}\n`;
    const options = { dynamo: '{install: false}', model: 'nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.2.0' };
    expect(found({ 'a.yaml': recipe(silent, options) })).toHaveLength(1);
    expect(found({ 'a.yaml': recipe(`setup_script: x.sh\n${silent}`, options) })).toEqual([]);
    const ofCommit = recipe(silent, { dynamo: '{hash: abc}' });
    expect(found({ 'a.yaml': ofCommit })).toEqual([]);
    expect(found({ 'a.yaml': `identity: {frameworks: {dynamo: "1.3.0"}}\n${ofCommit}` })).toHaveLength(1);
  });

  it('is no file that only looks alike', () => {
    expect(found({ 'a.yaml': 'backend: {type: vllm}\nresources: {agg_workers: 2}\n' })).toEqual([]);
    expect(inspect({ 'a.yaml': 'model: {container: x}\nbackend: vllm\n' }).notChecked).toEqual([]);
  });
});
