import { describe, expect, it } from 'vitest';
import { found, inspect } from '../support.js';

/** What one part of a pair is started with. */
interface Part {
  readonly args?: string;
  readonly env?: string;
  readonly image?: string;
}

const NIXL = `--kv-transfer-config, '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'`;

function part(role: 'prefill' | 'decode', { args = '', env = '', image = 'vllm/vllm-openai:v0.11.0' }: Part) {
  return `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${role}}
spec:
  template:
    metadata: {labels: {app: llama, llm-d.ai/role: ${role}}}
    spec:
      containers:
        - name: vllm
          image: ${image}
          command: [vllm, serve, m, ${NIXL}${args}]
          env: [{name: VLLM_NIXL_SIDE_CHANNEL_HOST, valueFrom: {fieldRef: {fieldPath: status.podIP}}}${env}]
---
`;
}

const pair = (prefill: Part, decode: Part): Readonly<Record<string, string>> => ({
  'a.yaml': part('prefill', prefill) + part('decode', decode),
});

const kernel = (name: string): string => `, {name: VLLM_ATTENTION_BACKEND, value: ${name}}`;

describe('the attention kernels of a pair of vLLM', () => {
  it.each([
    ['--attention-backend, FLASHINFER', '--attention-backend=FLASH_ATTN'],
    ['--attention-backend, FLASHINFER', '--attention-config.backend=FLASH_ATTN'],
    [`--attention-config, '{"backend": "FLASHINFER"}'`, '-ac.backend, FLASH_ATTN'],
  ])('differ by %s and %s', (one, other) => {
    expect(found(pair({ args: `, ${one}` }, { args: `, ${other}` }))).toEqual([
      'pair-settings a.yaml:24 error',
    ]);
  });

  it('differ by the variable of releases that read it', () => {
    const files = (image: string) =>
      pair({ env: kernel('FLASHINFER'), image }, { env: kernel('FLASH_ATTN'), image });
    expect(found(files('vllm/vllm-openai:v0.11.0'))).toEqual(['pair-settings a.yaml:25 error']);
    expect(found(files('registry.example.com/mine:latest'))).toEqual(['pair-settings a.yaml:25 warning']);
    expect(found(files('vllm/vllm-openai:v0.14.1'))).toEqual([]);
  });

  it('are the same in other words, or left to the GPU on one side', () => {
    expect(
      found(pair({ env: kernel('FLASH_ATTN_VLLM_V1') }, { args: ', --attention-backend=flash_attn' })),
    ).toEqual([]);
    expect(found(pair({ env: kernel('FLASHINFER') }, {}))).toEqual([]);
  });
});

describe('values of a pair that something else fills in', () => {
  it.each(['{{ .Values.dtype }}', '$(DTYPE)', `$\{DTYPE}`, '<your dtype>'])(
    'are not compared: %s',
    (value) => {
      expect(found(pair({ args: `, --dtype, "${value}"` }, { args: ', --dtype, bfloat16' }))).toEqual([]);
    },
  );
});

describe('a KV cache of 8 bits on one side', () => {
  it('is a warning, also where the other leaves it to the checkpoint', () => {
    const eight = { args: ', --kv-cache-dtype, fp8' };
    expect(found(pair({}, eight))).toEqual(['pair-settings a.yaml:24 warning']);
    expect(found(pair(eight, { args: ', --kv-cache-dtype, auto' }))).toEqual([
      'pair-settings a.yaml:11 warning',
    ]);
  });
});

/** A pair of Dynamo with TensorRT-LLM and its configuration. */
const trtllm = (prefill: string, decode: string): Readonly<Record<string, string>> => ({
  'a.yaml': `apiVersion: v1
kind: ConfigMap
metadata: {name: engines}
data:
  prefill.yaml: |
${prefill.replace(/^/gm, '    ')}
  decode.yaml: |
${decode.replace(/^/gm, '    ')}
---
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  services:
${['prefill', 'decode']
  .map(
    (role) => `    ${role}:
      componentType: worker
      extraPodSpec:
        volumes: [{name: c, configMap: {name: engines}}]
        mainContainer:
          image: nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:1.3.1
          command: [python3, -m, dynamo.trtllm, --model-path, m, --disaggregation-mode, ${role}]
          args: [--extra-engine-args, /config/${role}.yaml]
          volumeMounts: [{name: c, mountPath: /config}]
`,
  )
  .join('')}`,
});

const cache = (dtype: string): string => `kv_cache_config:\n  dtype: ${dtype}`;
const transport = (backend: string): string => `cache_transceiver_config:\n  backend: ${backend}`;

describe('a pair of TensorRT-LLM', () => {
  it('refuses KV blocks of another data type', () => {
    const { findings } = inspect(trtllm(cache('fp8'), cache('bfloat16')));
    expect(findings).toEqual([
      expect.objectContaining({
        ruleId: 'pair-settings',
        severity: 'error',
        line: 10,
        message: expect.stringContaining('has kv_cache_config.dtype bfloat16'),
      }),
    ]);
  });

  it('has no connection between two kinds of transport', () => {
    expect(found(trtllm(transport('UCX'), transport('NIXL')))).toEqual(['pair-settings a.yaml:10 error']);
  });

  it('says nothing of what the checkpoint or the release decides', () => {
    expect(found(trtllm(cache('fp8'), cache('auto')))).toEqual([]);
    expect(found(trtllm(cache('fp8'), 'backend: pytorch'))).toEqual([]);
    expect(found(trtllm(transport('DEFAULT'), transport('NIXL')))).toEqual([]);
  });
});

/** A graph of Dynamo 0.5, whose decode worker has no flag for its part. */
const graph = (prefill: string, decode: string, tag = '0.5.0'): Readonly<Record<string, string>> => ({
  'a.yaml': `apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  services:
    VllmDecodeWorker:
      componentType: worker
      extraPodSpec:
        mainContainer:
          image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:${tag}
          args: ["python3 -m dynamo.vllm --model m ${decode}"]
          command: [sh, -c]
    VllmPrefillWorker:
      componentType: worker
      extraPodSpec:
        mainContainer:
          image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:${tag}
          args: ["python3 -m dynamo.vllm --model m --is-prefill-worker ${prefill}"]
          command: [sh, -c]
`,
});

describe("Dynamo's vLLM without a flag for its part", () => {
  it('decodes what a prefill worker of its model began', () => {
    expect(found(graph('--dtype float16', '--dtype bfloat16'))).toEqual(['pair-settings a.yaml:11 error']);
  });

  it('is no partner where nothing moves blocks', () => {
    const none = ' --connector none';
    expect(found(graph(`--dtype float16${none}`, `--dtype bfloat16${none}`))).toEqual([]);
    expect(found(graph('--dtype float16', '--dtype bfloat16', '1.2.0'))).toEqual([]);
  });
});

describe('a pair whose model a script has in a variable that is not known', () => {
  const script = (prefill: string, decode: string): string => `source ./env.sh
python3 -m sglang.launch_server --model-path "\${${prefill}}" --disaggregation-mode prefill --page-size 64 &
python3 -m sglang.launch_server --model-path "\${${decode}}" --disaggregation-mode decode --page-size 16 &
`;

  it('is of one model where both name the same variable', () => {
    expect(found({ 'a.sh': script('MODEL_PATH', 'MODEL_PATH') })).toEqual(['pair-settings a.sh:3 error']);
    expect(found({ 'a.sh': script('MODEL_A', 'MODEL_B') })).toEqual([]);
  });
});
