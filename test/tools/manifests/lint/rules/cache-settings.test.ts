import { describe, expect, it } from 'vitest';
import { deployment, found, inspect } from '../support.js';

const connector = (name: string): string =>
  `--kv-transfer-config '{"kv_connector":"${name}","kv_role":"kv_both"}'`;

const UNREAD = 'cache-settings-unread a.sh:1 warning';

describe('settings of a cache that nothing switches on', () => {
  it.each([
    ['LMCache', 'LMCACHE_CONFIG_FILE=a.yaml vllm serve m --port 8000'],
    ['LMCache, in a container', 'docker run -e LMCACHE_CHUNK_SIZE=256 vllm/vllm-openai:v0.19.0 --model m'],
    [
      'LMCache, beside another connector',
      `LMCACHE_LOCAL_CPU=True vllm serve m ${connector('NixlConnector')}`,
    ],
    ['LMCache under SGLang', 'LMCACHE_REMOTE_URL=lm://h:1 python -m sglang.launch_server --model-path m'],
    ["Dynamo's block manager", 'DYN_KVBM_CPU_CACHE_GB=20 python -m dynamo.vllm --model m'],
    [
      "Dynamo's block manager under TensorRT-LLM",
      'DYN_KVBM_CPU_CACHE_GB=20 python -m dynamo.trtllm --model m',
    ],
    ['Mooncake', `MOONCAKE_CONFIG_PATH=m.json vllm serve m ${connector('NixlConnector')}`],
    ['FlexKV', 'FLEXKV_CONFIG_PATH=f.yaml vllm serve m'],
    ["AIBrix's KVCache", 'AIBRIX_KV_CACHE_OL_L2_CACHE_BACKEND=SHFS vllm serve m'],
    ["vLLM's offloading", 'vllm serve m --kv-offloading-backend lmcache'],
    ['HiCache', 'python -m sglang.launch_server --model-path m --hicache-storage-backend mooncake'],
  ])('are named: %s', (_part, command) => {
    expect(found({ 'a.sh': `${command}\n` })).toEqual([UNREAD]);
  });

  it.each([
    ['the connector', `LMCACHE_CONFIG_FILE=a.yaml vllm serve m ${connector('LMCacheConnectorV1')}`],
    [
      'it below another one',
      `LMCACHE_LOCAL_CPU=True vllm serve m --kv-transfer-config '{"kv_connector":"MultiConnector","kv_role":"kv_both","kv_connector_extra_config":{"connectors":[{"kv_connector":"LMCacheMPConnector","kv_role":"kv_both"}]}}'`,
    ],
    [
      'the backend',
      'LMCACHE_LOCAL_CPU=True vllm serve m --kv-offloading-size 20 --kv-offloading-backend lmcache',
    ],
    [
      'a connector of a module',
      `LMCACHE_LOCAL_CPU=True vllm serve m --kv-transfer-config '{"kv_connector":"X","kv_connector_module_path":"own.x"}'`,
    ],
    ['arguments that are not seen', 'LMCACHE_LOCAL_CPU=True vllm serve m $MORE'],
    ['a file that is not seen', 'LMCACHE_LOCAL_CPU=True vllm serve m --config vllm.yaml'],
    ["Dynamo's old flag", 'LMCACHE_LOCAL_CPU=True python -m dynamo.vllm --model m --connector lmcache nixl'],
    ["Dynamo's old variable", 'ENABLE_LMCACHE=1 LMCACHE_LOCAL_CPU=True python -m dynamo.vllm --model m'],
    ['a log level alone', 'LMCACHE_LOG_LEVEL=DEBUG LMCACHE_TRACK_USAGE=false vllm serve m'],
    [
      'prefix caching that is off on purpose',
      'LMCACHE_LOCAL_CPU=True vllm serve m --no-enable-prefix-caching',
    ],
    [
      '--enable-lmcache',
      'LMCACHE_LOCAL_CPU=True python -m sglang.launch_server --model-path m --enable-lmcache',
    ],
    [
      'FlexKV, which reads it between nodes',
      `MOONCAKE_CONFIG_PATH=m.json vllm serve m ${connector('FlexKVConnectorV1')}`,
    ],
    [
      "Mooncake's own vLLM, which has a variable for the role",
      'MOONCAKE_CONFIG_PATH=m.json VLLM_DISTRIBUTED_KV_ROLE=producer python3 -m vllm.entrypoints.openai.api_server --model m',
    ],
    [
      "TensorRT-LLM's file",
      'DYN_KVBM_CPU_CACHE_GB=20 python -m dynamo.trtllm --model m --extra-engine-args e.yaml',
    ],
    [
      'HiCache',
      'python -m sglang.launch_server --model-path m --hicache-ratio 2 --enable-hierarchical-cache',
    ],
    [
      'offloading of a decode engine',
      'python -m sglang.launch_server --model-path m --hicache-size 40 --disaggregation-mode decode --disaggregation-decode-enable-offload-kvcache',
    ],
  ])('are not named beside what may switch it on: %s', (_door, command) => {
    expect(found({ 'a.sh': `${command}\n` })).toEqual([]);
  });

  it("are read with the chart of vLLM's production stack, which adds the connector itself", () => {
    const values = (enabled: boolean): string => `servingEngineSpec:
  modelSpec:
    - name: a
      modelURL: m
      env: [{name: LMCACHE_LOCAL_DISK, value: "file:///kv"}]
      lmcacheConfig: {enabled: ${enabled}}
`;
    expect(found({ 'values.yaml': values(true) })).toEqual([]);
    expect(found({ 'values.yaml': values(false) })).toEqual(['cache-settings-unread values.yaml:5 warning']);
  });

  it('have the argument of the engine as advice', () => {
    const [finding] = inspect({
      'a.sh': 'LMCACHE_LOCAL_CPU=True LMCACHE_CHUNK_SIZE=256 vllm serve m\n',
    }).findings;
    expect(finding?.message).toBe(
      'vllm has LMCACHE_LOCAL_CPU, LMCACHE_CHUNK_SIZE, and nothing in its command switches LMCache on',
    );
    expect(finding?.advice).toContain(connector('LMCacheConnectorV1'));
  });
});

const engine = (url: string, beside = '', pod = ''): string =>
  deployment(
    'engine',
    `command: [vllm, serve, m, --kv-transfer-config, '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}']
env: [{name: LMCACHE_REMOTE_URL, value: "${url}"}]`,
    pod,
  ).replace(/---\n$/, `${beside}---\n`);

const service = (port: number, headless = ''): string =>
  `apiVersion: v1\nkind: Service\nmetadata: {name: store}\nspec: {${headless}selector: {app: store}, ports: [{port: ${port}}]}\n---\n`;

const store = (command: string): string =>
  `apiVersion: apps/v1
kind: Deployment
metadata: {name: store}
spec:
  template:
    metadata: {labels: {app: store}}
    spec:
      containers: [${command}]
---
`;
const SERVER = '{name: s, image: "lmcache/vllm-openai:v0.4.7", command: [lmcache_server, 0.0.0.0, "8080"]}';
const REDIS = '{name: s, image: "redis:7"}';

describe('the address of a shared store', () => {
  const WRONG = ['cache-store-address a.yaml:11 error'];

  it.each([
    ['in a pod with nothing else', engine('lm://localhost:8080')],
    ['at a port that the Service does not have', engine('redis://store:6380') + service(6379)],
    ["with Redis's scheme at LMCache's server", engine('redis://store:8080') + service(8080) + store(SERVER)],
    ["with LMCache's scheme at Redis", engine('lm://store.ns.svc:6379') + service(6379) + store(REDIS)],
  ])('is wrong %s', (_where, text) => {
    expect(found({ 'a.yaml': text })).toEqual(WRONG);
  });

  it.each([
    ['of a container beside it', engine('lm://localhost:8080', `        - ${SERVER}\n`)],
    [
      'of a sidecar that these files do not explain',
      engine('lm://localhost:8080', '        - {name: x, image: "own:1"}\n'),
    ],
    ['of a node', engine('redis://localhost:6379', '', '      hostNetwork: true\n')],
    ['of a Service with that port', engine('lm://store:8080') + service(8080) + store(SERVER)],
    ['of a headless Service', engine('redis://store:6380') + service(6379, 'clusterIP: None, ')],
    ['that is not here', engine('redis://elsewhere:6379') + service(8080)],
    ['with a password', engine('redis://:secret@store:6379') + service(6379) + store(REDIS)],
    ['of a bucket', engine('s3://bucket.s3.amazonaws.com')],
  ])('is right %s', (_where, text) => {
    expect(found({ 'a.yaml': text })).toEqual([]);
  });

  it('is compared with the server that a script starts', () => {
    const script = (url: string): string =>
      `lmcache_server localhost 65432 &\nLMCACHE_REMOTE_URL=${url} vllm serve m ${connector('LMCacheConnectorV1')}\n`;
    expect(found({ 'a.sh': script('lm://localhost:65432') })).toEqual([]);
    expect(found({ 'a.sh': script('lm://10.0.0.7:65431') })).toEqual([]);
    expect(found({ 'a.sh': script('lm://localhost:65431') })).toEqual(['cache-store-address a.sh:2 error']);
    expect(found({ 'a.sh': script('redis://localhost:65432') })).toEqual([
      'cache-store-address a.sh:2 error',
    ]);
  });
});
