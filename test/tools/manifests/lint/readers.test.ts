import { describe, expect, it } from 'vitest';
import type { Finding } from '../../../../src/tools/manifests/lint/findings/finding.js';
import { inspectTexts } from '../../../../src/tools/manifests/lint/lint-texts.js';
import { lintMarkdown } from '../../../../src/tools/manifests/lint/markdown/lint-markdown.js';
import { applyEdits } from '../../../../src/tools/manifests/text-edit.js';

interface Result {
  readonly findings: readonly Finding[];
  /** Rule, line and severity. */
  readonly found: readonly string[];
  readonly seen: readonly string[];
}

function lint(text: string, file = 'x.yaml'): Result {
  const { findings, notChecked } = inspectTexts([{ file, text }], { lintMarkdown });
  return {
    findings,
    found: findings.map(({ ruleId, line, severity }) => `${ruleId} ${line} ${severity}`),
    seen: notChecked.map(({ program, reason, count }) => `${count} × ${program}, ${reason}`),
  };
}

/** The text after the fix of the only finding. */
function fixed(text: string): string {
  const { findings } = lint(text);
  expect(findings).toHaveLength(1);
  return applyEdits(text, findings[0]?.fix?.edits ?? []);
}

const COMPOSE = `x-common: &common
  restart: always
  environment: &environment
    NATS_SERVER: nats://nats:4222
services:
  frontend:
    image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.1.1
    command: ["python3", "-m", "dynamo.frontend", "--dyn-chat-processor", "vllm"]
    environment:
      <<: *environment
      DYN_ROUTER_MODE: kv
      DYN_KV_CACHE_BLOCK_SIZE: "16"
  worker:
    <<: *common
    image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.1.1
    command: >
      python3 -m dynamo.vllm --model m
      --block-size \${BLOCK_SIZE:-64}
      --kv-events-config '{"enable_kv_cache_events":true}'
`;

describe('a compose file', () => {
  it('is one fleet: list and text commands, merge keys, defaults of variables', () => {
    const { found, findings } = lint(COMPOSE, 'compose.yaml');
    expect(found).toEqual(['block-size-mismatch 12 error']);
    expect(findings[0]?.message).toContain('dynamo.vllm 64 (--block-size)');
    expect(fixed(COMPOSE)).toBe(COMPOSE.replace('"16"', '"64"'));
  });

  it.each([
    ['a variable without a default', COMPOSE.replace(':-64', '')],
    [
      'a part that another file completes',
      COMPOSE.replace(/^.*DYN_KV.*\n/m, '').replace(/ {4}image: .*\n {4}command: \[.*\n/, ''),
    ],
    [
      'services of two profiles',
      COMPOSE.replace('frontend:', 'frontend:\n    profiles: [a]').replace(
        'worker:',
        'worker:\n    profiles: [b]',
      ),
    ],
  ])('says nothing of %s', (_, text) => {
    expect(lint(text).found).toEqual([]);
  });

  it('takes environment as a list, and the entrypoint of an image', () => {
    const text =
      'services:\n  a: {image: vllm/vllm-openai, command: --model m --block-size 16, environment: [PYTHONHASHSEED=0]}\n' +
      '  b: {image: vllm/vllm-openai, entrypoint: [vllm, serve], command: [m], environment: ["PYTHONHASHSEED=1"]}\n';
    expect(lint(text).found).toEqual(['hash-seed-differs 3 warning']);
  });

  it('of other programs has nothing to say', () => {
    expect(lint('services:\n  db: {image: postgres, environment: [A=1]}\n')).toMatchObject({
      found: [],
      seen: [],
    });
  });
});

const PICKER = `apiVersion: inference.networking.x-k8s.io/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: precise-prefix-cache-scorer
  parameters:
    tokenProcessorConfig:
      blockSize: 16
      hashSeed: "42"
- type: max-score-picker
`;

const indent = (text: string, columns: number): string => text.replace(/^(?=.)/gm, ' '.repeat(columns));

/** llm-d's picker in a ConfigMap, beside a worker. */
function withWorker(picker: string, args: string, seed = '42'): string {
  return `kind: ConfigMap
metadata: {name: plugins}
data:
  plugins.yaml: |
${indent(picker, 4)}---
kind: Deployment
metadata: {name: vllm}
spec:
  template:
    spec:
      containers:
      - name: vllm
        image: vllm/vllm-openai:v0.19.0
        args: [--model, m, ${args}]
        env: [{name: PYTHONHASHSEED, value: "${seed}"}]
`;
}

const EVENTS = '--kv-events-config, \'{"enable_kv_cache_events":true,"publisher":"zmq","topic":"kv@pod@m"}\'';

describe("llm-d's endpoint picker", () => {
  it('is compared with the block size of the workers beside it', () => {
    const text = withWorker(PICKER, `--block-size, "64", ${EVENTS}`);
    expect(lint(text).found).toEqual(['block-size-mismatch 11 warning']);
    expect(fixed(text)).toBe(text.replace('blockSize: 16', 'blockSize: 64'));
    expect(lint(withWorker(PICKER, `--block-size, "16", ${EVENTS}`)).found).toEqual([]);
  });

  it('has a default of 16', () => {
    const text = withWorker(PICKER.replace('blockSize: 16', '# none'), `--block-size, "64", ${EVENTS}`);
    expect(lint(text).found).toEqual(['block-size-mismatch 8 warning']);
  });

  it('that computes its keys from events takes every multiple of its own size', () => {
    const producer = PICKER.replace('cache-scorer', 'cache-producer');
    expect(lint(withWorker(producer, `--block-size, "64", ${EVENTS}`, '7')).found).toEqual([]);
    const large = producer.replace('blockSize: 16', 'blockSizeTokens: 64');
    expect(lint(withWorker(large, `--block-size, "16", ${EVENTS}`)).found).toEqual([
      'block-size-mismatch 11 warning',
    ]);
  });

  it('needs workers that publish events, and their hash seed', () => {
    expect(lint(withWorker(PICKER, '--block-size, "16"')).found).toEqual(['kv-events-off 22 error']);
    expect(lint(withWorker(PICKER, `--block-size, "16", ${EVENTS}`, '0')).found).toEqual([
      'hash-seed-differs 12 warning',
    ]);
  });

  it('before workers with two sizes, and beside another picker, is left unknown', () => {
    const worker = withWorker(PICKER, `--block-size, "64", ${EVENTS}`);
    const second = worker.slice(worker.indexOf('---')).replace('"64"', '"32"').replace('vllm}', 'b}');
    expect(lint(worker + second).found).toEqual([]);
    expect(lint(`${worker}---\n${PICKER}`).found).toEqual([]);
  });

  it('that guesses is seen and not checked', () => {
    expect(lint(PICKER.replace('precise-prefix-cache-scorer', 'prefix-cache-scorer')).seen).toEqual([
      '1 × llm-d endpoint picker, it guesses from its own decisions, with blocks of its own',
    ]);
  });

  it('stands inline in an LLMInferenceService, beside arguments in VLLM_ADDITIONAL_ARGS', () => {
    const text = `apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceService
metadata: {name: m}
spec:
  router:
    scheduler:
      config:
        inline:
${indent(PICKER, 10)}  template:
    containers:
    - name: main
      env:
      - name: VLLM_ADDITIONAL_ARGS
        value: "--block-size 64 --kv-events-config '{\\"enable_kv_cache_events\\":true,\\"topic\\":\\"kv@pod@m\\"}'"
`;
    expect(lint(text).found).toEqual(['block-size-mismatch 15 warning']);
  });

  const service = (container: string, more = ''): string => `apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceService
metadata: {name: m}
spec:
${more}  router:
    scheduler:
      config:
        inline:
${indent(PICKER, 10)}  template:
    containers:
    - name: main
      image: vllm/vllm-openai:v0.19.0
${container}`;

  it('is compared with an LLMInferenceService that gives its whole command', () => {
    const command = '      command: [vllm, serve, m]\n';
    expect(lint(service(`${command}      args: [--block-size, "64"]\n`)).found).toEqual([
      'block-size-mismatch 15 warning',
      'kv-events-off 22 error',
    ]);
    expect(
      lint(service('      command: [vllm, serve, m, --block-size, "64"]\n      args: [--seed, "1"]\n')).found,
    ).toContain('block-size-mismatch 15 warning');
  });

  it('is compared with nothing that a preset may say: arguments of a container without its own, variables of a base', () => {
    const base = '  baseRefs: [{name: my-preset}]\n';
    expect(lint(service('      command: [vllm, serve, m]\n', base)).found).toEqual([]);
    expect(lint(service('      command: [vllm, serve, m]\n')).found).toEqual(['kv-events-off 22 error']);
    expect(lint(service('      env: []\n', base)).found).toEqual([]);
  });

  it('stands in Helm values, beside the containers of llm-d-modelservice', () => {
    const text = `modelArtifacts: {name: m}
decode:
  containers:
  - name: vllm
    image: ghcr.io/llm-d/llm-d-cuda:v0.5.0
    modelCommand: vllmServe
    args: ["--block-size=64", ${EVENTS}]
inferenceExtension:
  pluginsCustomConfig:
    plugins.yaml: |
${indent(PICKER, 6)}`;
    expect(lint(text, 'values.yaml').found).toEqual(['block-size-mismatch 17 warning']);
  });
});

const DISAGGREGATED = `hostname: localhost
context_servers:
  num_instances: 2
  router: {type: kv_cache_aware, tokens_per_block: 32}
  kv_cache_config: {tokens_per_block: 64, event_buffer_max_size: 1024, enable_block_reuse: true}
  urls: ["a:8001"]
generation_servers:
  num_instances: 1
  kv_cache_config: {tokens_per_block: 64}
  urls: ["b:8002"]
`;

describe('trtllm-serve disaggregated', () => {
  it('has a kv_cache_aware router with the block size of its servers', () => {
    expect(lint(DISAGGREGATED).found).toEqual(['block-size-mismatch 4 error']);
    expect(lint(fixed(DISAGGREGATED)).found).toEqual([]);
  });

  it('has one size on both sides', () => {
    const text = DISAGGREGATED.replace(/router: .*/, '').replace(
      '{tokens_per_block: 64}',
      '{tokens_per_block: 32}',
    );
    expect(lint(text).found).toEqual(['block-size-mismatch 9 error']);
  });

  it('keeps events only in a buffer', () => {
    const text = DISAGGREGATED.replace('tokens_per_block: 32', 'tokens_per_block: 64').replace(
      ' event_buffer_max_size: 1024,',
      '',
    );
    expect(lint(text).found).toEqual(['kv-events-off 4 warning']);
  });

  it('says nothing of servers that only have addresses', () => {
    expect(lint(DISAGGREGATED.replace(/^ +kv_cache_config.*\n/gm, '')).found).toEqual([]);
  });
});

describe('the gateway of SGLang', () => {
  it.each(['smg launch', 'python3 -m sglang_router.launch_router', 'smg', 'python -m smg.launch_router'])(
    '%s takes the size of events, so another one of its own is a note',
    (command) => {
      const text = `python3 -m sglang.launch_server --model-path m --page-size 64 &\n${command} --policy cache_aware --block-size 16\n`;
      expect(lint(text, 'x.sh').found).toEqual(['block-size-mismatch 2 note']);
      expect(lint(text.replace('64', '16'), 'x.sh')).toMatchObject({ found: [], seen: [] });
      expect(lint(text.replace('--block-size', '--mini-lb --block-size'), 'x.sh').found).toEqual([]);
    },
  );
});

const STACK = `servingEngineSpec:
  modelSpec:
  - name: a
    modelURL: org/m
    vllmConfig: {enablePrefixCaching: true, extraArgs: ["--block-size", "48"]}
    lmcacheConfig: {enabled: true}
    env:
    - {name: LMCACHE_CHUNK_SIZE, value: "256"}
routerSpec:
  routingLogic: kvaware
`;

describe("vLLM's production stack", () => {
  it('needs LMCache and its controller behind routingLogic: kvaware', () => {
    expect(lint(STACK).found).toEqual(['kvaware-without-lmcache 4 error', 'lmcache-chunk-size 8 warning']);
    const right = STACK.replace('enabled: true', 'enabled: true, enableController: true').replace('48', '64');
    expect(lint(right)).toMatchObject({ found: [], seen: [] });
  });

  it('with another routing logic has nothing to compare', () => {
    const text = STACK.replace('kvaware', 'roundrobin').replace('48', '64');
    expect(lint(text)).toMatchObject({
      found: [],
      seen: [
        '1 × production-stack router, its routing logic (roundrobin) looks at no blocks',
        '1 × vllm, the router beside it asks nothing of it: it guesses, or goes by load',
      ],
    });
  });
});

describe('LMCache', () => {
  it('finds chunks of another size among workers that share a store', () => {
    const text =
      'LMCACHE_REMOTE_URL=lm://s LMCACHE_CHUNK_SIZE=256 vllm serve m --kv-offloading-size 9 --kv-offloading-backend lmcache &\nLMCACHE_REMOTE_URL=lm://s LMCACHE_CHUNK_SIZE=128 vllm serve m --kv-offloading-size 9 --kv-offloading-backend lmcache\n';
    expect(lint(text, 'x.sh').found).toEqual(['lmcache-chunk-size 2 warning']);
    expect(lint(text.replaceAll('LMCACHE_REMOTE_URL=lm://s ', ''), 'x.sh').found).toEqual([]);
  });
});

describe('shell blocks of a page', () => {
  it('are read as scripts of their own, prompts and docker run among them', () => {
    const page = `The number must match the backend:\n\n\`\`\`console\n$ docker run x python3 -m dynamo.vllm --model m --block-size 64 &\n$ python3 -m dynamo.frontend --router-mode kv --kv-cache-block-size 16\n\`\`\`\n`;
    expect(lint(page, 'page.md').found).toEqual(['block-size-mismatch 5 note']);
  });
});
