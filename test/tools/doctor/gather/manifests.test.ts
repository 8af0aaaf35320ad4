import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { EvidencePart } from '../../../../src/tools/doctor/evidence.js';
import { manifestsPart } from '../../../../src/tools/doctor/gather/manifests.js';

function partOf(...texts: readonly string[]): EvidencePart {
  return manifestsPart(
    'deploy',
    texts.map((text, at) => ({ file: `deploy/${at}.yaml`, text })),
  );
}

/** `worker dynamo.vllm of a 32 configured` */
function sizesOf({ sizes = [] }: EvidencePart): readonly string[] {
  return sizes.map(({ side, who, tokensPerBlock, basis }) => `${side} ${who} ${tokensPerBlock} ${basis}`);
}

function settingsOf({ settings = [] }: EvidencePart, side = 'worker'): Readonly<Record<string, string>> {
  const own = settings.filter((one) => one.side === side);
  return Object.fromEntries(
    own.map(({ name, value, isDefault }) => [name, `${value}${isDefault ? ' *' : ''}`]),
  );
}

function deployment(name: string, command: string, more = ''): string {
  return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, namespace: inference}
spec:
  replicas: 2
  template:
    spec:
      containers:
        - name: main
          image: registry.example.com/dynamo-frontend:1.1.0
          command: [sh, -c, "${command}"]
${more}`;
}

describe('manifests', () => {
  it('of the investigation show each side, and which defaults apply', () => {
    const path = '../../../fixtures/doctor/investigation/deploy/graph.yaml';
    const part = partOf(readFileSync(new URL(path, import.meta.url), 'utf8'));
    expect(part.source).toMatchObject({ status: 'read', detail: '1 file, 1 fleet of 2 programs, 1 finding' });
    expect(sizesOf(part)).toEqual([
      'worker dynamo.trtllm of gtc-demo/TrtllmWorker 32 default',
      'frontend dynamo.frontend of gtc-demo/Frontend 16 default',
    ]);
    expect(settingsOf(part)).toEqual({
      program: 'dynamo.trtllm',
      backend: 'trtllm',
      publishes_kv_events: 'true',
      model: 'meta-llama/Llama-3.3-70B-Instruct',
      tensor_parallel_size: '4',
      max_batch_size: '64',
      max_model_len: '32768',
      free_gpu_memory_fraction: '0.85',
      prefix_caching: 'true *',
    });
    expect(settingsOf(part, 'frontend')).toEqual({
      program: 'dynamo.frontend',
      router_mode: 'kv',
      router_uses_events: 'true *',
      frontend_replicas: '1',
    });
    expect(part.sizes?.[0]?.origin).toEqual({
      place: 'deploy/0.yaml:29:34',
      text: 'no block size is set: 32 is the default of trtllm',
    });
    // What is in the environment of a worker is nobody's business but its own.
    const { manifests: _, findings: __, ...rest } = part;
    expect(JSON.stringify(rest)).not.toContain('hf_not-a-real-token');
  });

  it("give no size to a frontend that uses its workers' cards", () => {
    const env = '          env: [{name: DYN_KV_CACHE_BLOCK_SIZE, value: "16"}]\n';
    const rust = partOf(deployment('front', 'python3 -m dynamo.frontend --router-mode kv', env));
    expect(sizesOf(rust)).toEqual([]);
    const python = 'python3 -m dynamo.frontend --router-mode kv --dyn-chat-processor vllm';
    const chat = partOf(deployment('front', python, env));
    expect(sizesOf(chat)).toEqual(['frontend dynamo.frontend of front 16 configured']);
    expect(settingsOf(chat, 'frontend')).toMatchObject({ dynamo_version: '1.1.0', chat_processor: 'vllm' });
  });

  it('show the default of a router of its own, and the number of an indexer', () => {
    const part = partOf(
      deployment('router', 'python3 -m dynamo.router --endpoint a.b.c'),
      deployment('indexer', 'python3 -m dynamo.indexer --block-size 64'),
    );
    expect(sizesOf(part)).toEqual([
      'router dynamo.router of router 128 default',
      'indexer dynamo.indexer of indexer 64 configured',
    ]);
  });

  it('show what engines are started with', () => {
    const command =
      'vllm serve m --block-size 32 -tp 8 --gpu_memory_utilization=0.92 --max-num-seqs 256 --no-enable-prefix-caching';
    const part = partOf(deployment('vllm', command, '          env: [{name: PYTHONHASHSEED, value: "0"}]\n'));
    expect(sizesOf(part)).toEqual(['worker vllm of vllm 32 configured']);
    expect(settingsOf(part)).toMatchObject({
      backend: 'vllm',
      tensor_parallel_size: '8',
      gpu_memory_utilization: '0.92',
      max_num_seqs: '256',
      prefix_caching: 'false',
      hash_seed: '0',
      publishes_kv_events: 'false *',
    });
  });

  it("show TensorRT-LLM's YAML out of a ConfigMap", () => {
    const config = `
apiVersion: v1
kind: ConfigMap
metadata: {name: engine, namespace: inference}
data:
  agg.yaml: |
    max_batch_size: 16
    kv_cache_config:
      free_gpu_memory_fraction: 0.5
      tokens_per_block: 64
      enable_block_reuse: true
`;
    const mounts = `          volumeMounts: [{name: c, mountPath: /etc/engine}]
      volumes: [{name: c, configMap: {name: engine}}]
`;
    const command = 'python3 -m dynamo.trtllm --extra-engine-args /etc/engine/agg.yaml';
    const part = partOf(config, deployment('trtllm', command, mounts));
    expect(sizesOf(part)).toContain('worker dynamo.trtllm of trtllm 64 configured');
    expect(settingsOf(part)).toMatchObject({
      max_batch_size: '16',
      free_gpu_memory_fraction: '0.5',
      prefix_caching: 'true',
      tensor_parallel_size: '1 *',
    });
  });

  it.each([
    ['vllm/vllm-openai:v0.19.1', '0.19.1'],
    ['vllm/vllm-openai:v0.26.0-cu129', '0.26.0'],
    ['docker.io/vllm/vllm-openai:v0.21.0.post1', '0.21.0.post1'],
    ['vllm/vllm-openai:nightly', undefined],
    ['vllm/vllm-openai:latest', undefined],
    ['vllm/vllm-openai:v0.20.0rc1', undefined],
    ['registry.example.com/own:v0.19.1', undefined],
  ])('show the version of an engine where its image says it: %s', (image, expected) => {
    const text = deployment('vllm', 'vllm serve Qwen/Qwen3-8B').replace(
      'registry.example.com/dynamo-frontend:1.1.0',
      image,
    );
    const settings = settingsOf(partOf(text));
    expect(settings['engine_version']).toBe(expected);
    expect(settings['tensor_parallel_size']).toBe('1 *');
  });

  it('show no version of an engine whose arguments are not all seen, so that none of its defaults is taken', () => {
    const text = deployment('vllm', 'vllm serve Qwen/Qwen3-8B $EXTRA_ARGS').replace(
      'registry.example.com/dynamo-frontend:1.1.0',
      'vllm/vllm-openai:v0.19.1',
    );
    const settings = settingsOf(partOf(text));
    expect(settings).not.toHaveProperty('engine_version');
    expect(settings).not.toHaveProperty('tensor_parallel_size');
  });

  it('show what drafts tokens', () => {
    const of = (command: string): string | undefined =>
      settingsOf(partOf(deployment('w', command)))['speculation'];
    expect(of('python3 -m sglang.launch_server --model-path m --speculative-algorithm EAGLE')).toBe('EAGLE');
    expect(of(`vllm serve m --speculative-config '{\\"method\\": \\"mtp\\"}'`)).toBe('{"method": "mtp"}');
  });

  it('that start nothing, or are broken, are reported', () => {
    expect(partOf('kind: Service\n').source).toMatchObject({
      status: 'not_read',
      detail: 'starts no frontend, router, indexer or engine that is known here',
    });
    expect(partOf('a: [\n---\nb: }\n').source.status).not.toBe('read');
  });
});
