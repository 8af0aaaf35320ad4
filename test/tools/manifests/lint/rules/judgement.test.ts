import { describe, expect, it } from 'vitest';
import { found, inspect } from '../support.js';

const worker = 'python3 -m dynamo.vllm --model m --block-size 64\n';

describe('a router without events', () => {
  it.each([
    'python3 -m dynamo.frontend --router-mode kv --no-kv-events --kv-cache-block-size 16 &',
    'python3 -m dynamo.frontend --router-mode kv --no-router-kv-events --kv-cache-block-size 16 &',
    'DYN_ROUTER_USE_KV_EVENTS=false python3 -m dynamo.frontend --router-mode kv --kv-cache-block-size 16 &',
    'DYN_KV_CACHE_BLOCK_SIZE=32 python3 -m dynamo.frontend --router-mode kv --no-router-kv-events --kv-cache-block-size 16 &',
    'python3 -m dynamo.frontend --router-mode kv --dyn-chat-processor vllm --no-kv-events &',
    'python3 -m dynamo.router --no-router-kv-events --router-block-size 16 &',
    'python3 -m dynamo.router --no-router-kv-events &',
  ])('is compared with nothing, and gets no fix: %s', (front) => {
    expect(inspect({ 'a.sh': `${front}\n${worker}` }).findings).toEqual([]);
  });
});

describe('a frontend whose workers decide by their cards', () => {
  const graph = (image: string, env: string): string => `apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  services:
    Frontend:
      componentType: frontend
      extraPodSpec: {mainContainer: {image: "${image}"}}
      envs: [{name: DYN_ROUTER_MODE, value: kv}${env}]
    Worker:
      componentType: worker
      extraPodSpec:
        mainContainer:
          image: "${image}"
          command: [python3, -m, dynamo.vllm, --model, m, --block-size, "64", --kv-events-config, '{"enable_kv_cache_events": true}']
`;
  const size = ', {name: DYN_KV_CACHE_BLOCK_SIZE, value: "16"}';

  it.each(['r/vllm-runtime:0.5.1', 'r/vllm-runtime:0.9.0', 'r/vllm-runtime:1.6.1', 'r/vllm-runtime:my-tag'])(
    'needs no number of its own in %s',
    (image) => {
      expect(found({ 'a.yaml': graph(image, '') })).toEqual([]);
    },
  );

  it('gets a note where its number differs, and no warning', () => {
    expect(found({ 'a.yaml': graph('r/vllm-runtime:1.6.1', size) })).toEqual([
      'block-size-mismatch a.yaml:9 note',
    ]);
  });

  it('is known by the chart of the platform, where images do not say their version', () => {
    const chart = 'name: dynamo-platform\nversion: 1.5.0\n';
    const files = { 'a.yaml': graph('r/vllm-runtime:my-tag', size) };
    expect(found(files)).toEqual(['block-size-mismatch a.yaml:9 note']);
    expect(found({ ...files, 'charts/platform/Chart.yaml': chart })).toEqual([
      'block-size-mismatch a.yaml:9 note',
    ]);
    expect(found({ ...files, 'charts/other/Chart.yaml': chart.replace('platform', 'other') })).toHaveLength(
      1,
    );
  });

  it('decides itself with a Python chat processor', () => {
    const python = ', {name: DYN_CHAT_PROCESSOR, value: vllm}';
    expect(found({ 'a.yaml': graph('r/vllm-runtime:1.1.1', python) })).toEqual([
      'block-size-unset a.yaml:9 error',
    ]);
    expect(found({ 'a.yaml': graph('r/vllm-runtime:my-tag', python) })).toEqual([
      'block-size-unset a.yaml:9 warning',
    ]);
  });
});

describe('a number that its line leaves to the reader', () => {
  const script = (comment: string): string =>
    `python3 -m dynamo.router --router-block-size 16 ${comment}\n${worker}`;

  it.each([
    "# Match your engine's block size",
    '# must match the block size of your workers',
    '# Change this to the page size of SGLang',
    '# adjust to the backend',
    '# please set to the page size of the worker',
    '# 16 for vLLM; replace with your own',
  ])('is a note: %s', (comment) => {
    expect(found({ 'a.sh': script(comment) })).toEqual(['block-size-mismatch a.sh:1 note']);
  });

  it.each([
    '',
    '# the block size of vLLM',
    "# Must match the workers' block size (default: 128)",
    '# must match --block-size of the worker below',
    '# matches vLLM block size',
    '# reset by the value of the chart',
    '# TODO',
  ])('is an error: %s', (comment) => {
    expect(found({ 'a.sh': script(comment) })).toEqual(['block-size-mismatch a.sh:1 error']);
  });

  it('is looked for in time, however long its comment is', () => {
    const comment = '# match'.repeat(70_000);
    expect(found({ 'a.sh': script(comment.slice(0, 200_000)) })).toEqual([
      'block-size-mismatch a.sh:1 error',
    ]);
  }, 5_000);
});

describe('a flag whose value is not known', () => {
  it.each(['--kv-events-config="$EVENTS"', '--kv-events-config $EVENTS', `"\${MORE[@]}"`, '$MORE'])(
    'is there all the same: %s',
    (flag) => {
      const front = 'python3 -m dynamo.router --router-block-size 64 &\n';
      const sglang = `python3 -m dynamo.sglang --model-path m --page-size 64 ${flag}\n`;
      expect(found({ 'a.sh': front + sglang })).toEqual([]);
    },
  );
});
