import { describe, expect, it } from 'vitest';
import { fixAll } from '../../../../../src/tools/manifests/lint/fixes/apply-fixes.js';
import { inspectTexts } from '../../../../../src/tools/manifests/lint/lint-texts.js';
import { deployment, inspect, vllm } from '../support.js';

const IMAGE = 'r/vllm-runtime:1.1.1';
const graph = (name: string, tokens: number, more: string): string => `apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: ${name}}
spec:
  services:
    Frontend:
      componentType: frontend
      extraPodSpec:
        mainContainer:
          image: ${IMAGE}
          command: [python3, -m, dynamo.frontend, --router-mode, kv, --dyn-chat-processor, vllm]
          ${more}
    Worker:
      componentType: worker
      extraPodSpec:
        mainContainer:
          image: ${IMAGE}
          command: [python3, -m, dynamo.vllm, --model, m, --block-size, "${tokens}", --kv-events-config, '{"enable_kv_cache_events":true}']
---
`;
const settings = `apiVersion: v1
kind: ConfigMap
metadata: {name: sizes}
data: {DYN_KV_CACHE_BLOCK_SIZE: "16"}
---
`;
const shared = 'envFrom: [{configMapRef: {name: sizes}}]';

/** The findings about sizes, with whether they have a fix and name another reader. */
function fixes(files: Readonly<Record<string, string>>): readonly (readonly [boolean, boolean])[] {
  return inspect(files)
    .findings.filter(({ ruleId }) => /^block-size/.test(ruleId))
    .map(({ fix, advice }) => [fix !== undefined, /read by .* as well/.test(advice)]);
}

describe('a number that others read', () => {
  it('is changed for none of two fleets of which one needs it as it is', () => {
    expect(fixes({ 'a.yaml': settings + graph('a', 16, shared) + graph('b', 64, shared) })).toEqual([
      [false, true],
    ]);
    expect(fixes({ 'a.yaml': settings + graph('b', 64, shared) })).toEqual([[true, false]]);
  });

  it('is asked for by no picker that is alone', () => {
    const picker = `inferenceExtension:
  image: {name: llm-d-inference-scheduler, tag: v0.7.0}
  pluginsConfigFile: custom.yaml
  pluginsCustomConfig:
    custom.yaml: |
      apiVersion: inference.networking.x-k8s.io/v1alpha1
      kind: EndpointPickerConfig
      plugins:
      - type: precise-prefix-cache-scorer
        parameters:
          tokenProcessorConfig: {blockSize: 64}
          kvEventsConfig: {topicFilter: "kv@", zmqEndpoint: "tcp://*:5557"}
      schedulingProfiles:
      - {name: default, plugins: [{pluginRef: precise-prefix-cache-scorer}]}
`;
    const service = `modelArtifacts: {name: Qwen/Qwen3-8B}
decode:
  create: true
  containers:
  - name: vllm
    image: ghcr.io/llm-d/llm-d-cuda:v0.5.1
    modelCommand: vllmServe
    args: [--block-size=16]
`;
    const files = { 'gaie-x/values.yaml': picker, 'ms-x/values.yaml': service };
    expect(fixes(files)).toEqual([[true, false]]);
    expect(fixes({ ...files, 'ms-x/values_xpu.yaml': service })).toEqual([[true, false]]);
  });

  it('is changed where all of them ask for the same', () => {
    expect(fixes({ 'a.yaml': settings + graph('a', 64, shared) + graph('b', 64, shared) })).toEqual([
      [true, false],
      [true, false],
    ]);
  });

  it('is not changed at an anchor that another place names', () => {
    const front = (env: string): string =>
      deployment(
        'frontend',
        `command: [python3, -m, dynamo.frontend, --router-mode, kv, --dyn-chat-processor, vllm]\nenv: [${env}]`,
      ).replace('registry.example.com/image:tag', IMAGE);
    const size = '{name: DYN_KV_CACHE_BLOCK_SIZE, value: &n "16"}';
    expect(fixes({ 'a.yaml': front(`${size}, {name: DYN_HTTP_WORKERS, value: *n}`) + vllm(64) })).toEqual([
      [false, true],
    ]);
    expect(fixes({ 'a.yaml': front(size) + vllm(64) })).toEqual([[true, false]]);
    const compose = (alias: string): string =>
      `x-n: &n 16\nservices:\n  f:\n    image: ${IMAGE}\n    environment: {DYN_ROUTER_MODE: kv, DYN_KV_CACHE_BLOCK_SIZE: *n}\n    command: python3 -m dynamo.frontend --dyn-chat-processor vllm\n  w:\n    image: ${IMAGE}\n    environment: {MAX_NUM_SEQS: ${alias}}\n    command: python3 -m dynamo.vllm --model m --block-size 64\n`;
    expect(fixes({ 'compose.yaml': compose('*n') })).toEqual([[false, true]]);
  });

  it('is not changed in a service of several profiles', () => {
    const service = (name: string, command: string, more = ''): string =>
      `  ${name}:\n    image: ${IMAGE}\n${more}    command: ${command}\n`;
    const front = service(
      'f',
      'python3 -m dynamo.frontend --router-mode kv --dyn-chat-processor vllm --kv-cache-block-size 16',
    );
    const worker = (tokens: number): string =>
      service(
        `w${tokens}`,
        `python3 -m dynamo.vllm --model m --block-size ${tokens}`,
        `    profiles: [p${tokens}]\n`,
      );
    expect(fixes({ 'compose.yaml': `services:\n${front}${worker(16)}${worker(64)}` })).toEqual([
      [false, true],
    ]);
    expect(fixes({ 'compose.yaml': `services:\n${front}${worker(64)}` })).toEqual([[true, false]]);
  });

  it('is not changed in the environment of a script that two fleets have', () => {
    const fleet = (namespace: string, tokens: number): string =>
      `python3 -m dynamo.frontend --namespace ${namespace} --router-mode kv &\npython3 -m dynamo.vllm --namespace ${namespace} --model m --block-size ${tokens} &\n`;
    const size = 'export DYN_KV_CACHE_BLOCK_SIZE=16\n';
    expect(fixes({ 'a.sh': size + fleet('a', 16) + fleet('b', 64) })).toEqual([[false, true]]);
    expect(fixes({ 'a.sh': size + fleet('b', 64) })).toEqual([[true, false]]);
  });
});

describe('a list that a merge key gives', () => {
  const merged = (own: string): string =>
    graph('g', 64, own).replace(
      'mainContainer:\n          image',
      'mainContainer:\n          <<: *common\n          image',
    );
  const common = `x: &common\n  env: [{name: HF_HOME, value: /run/hf}]\n`;

  it('is not hidden by one of its own', () => {
    expect(fixes({ 'a.yaml': merged('').replace('spec:', `${common}spec:`) })).toEqual([[false, false]]);
    expect(
      fixes({ 'a.yaml': merged('env: [{name: A, value: b}]').replace('spec:', `${common}spec:`) }),
    ).toEqual([[true, false]]);
  });
});

describe('changes that ask for each other', () => {
  it('leave their file as it was, and are not counted', () => {
    const flip = (text: string): string => (text === 'a' ? 'b' : 'a');
    const texts = [
      { file: 'x', text: 'a' },
      { file: 'y', text: 'a' },
    ];
    const fixed = fixAll(texts, (now) =>
      now
        .filter(({ file, text }) => file === 'x' || text === 'a')
        .map(({ file, text }) => ({
          ruleId: 'rule',
          severity: 'error',
          file,
          line: 1,
          column: 1,
          message: '',
          consequence: '',
          advice: '',
          fix: { says: '', file, edits: [{ start: 0, end: 1, text: flip(text) }] },
        })),
    );
    expect(fixed.texts.map(({ text }) => text)).toEqual(['a', 'b']);
    expect(fixed.applied).toBe(1);
    expect(fixed.findings).toHaveLength(1);
  });

  it('do not end in a file of another number than a fleet needs', () => {
    const text = settings + graph('a', 16, shared) + graph('b', 64, shared);
    const fixed = fixAll([{ file: 'a.yaml', text }], (now) => inspectTexts(now).findings);
    expect(fixed.texts[0]?.text).toBe(text);
    expect(fixed.applied).toBe(0);
  });
});
