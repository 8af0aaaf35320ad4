import { describe, expect, it } from 'vitest';
import { found } from '../support.js';

describe('a flag of a block size', () => {
  it.each([
    'vllm serve m --prefix-cache-block-size=16',
    'vllm serve m --page-size 16',
    'vllm serve m --kv_cache_block_size $SIZE',
    'python3 -m vllm.entrypoints.openai.api_server --model m --tokens-per-block=32',
    'python3 -m sglang.launch_server --model-path m --block-size 64',
    'python3 -m sglang.launch_server --model-path m --kv-block-size 64',
  ])('that the engine does not have is a warning: %s', (command) => {
    expect(found({ 'a.sh': `${command}\n` })).toEqual(['unknown-size-flag a.sh:1 warning']);
  });

  it('is found in a command that is one argument', () => {
    const service = (flag: string): string => `kind: LLMInferenceService
metadata: {name: q}
spec:
  template:
    containers:
    - name: main
      image: registry.example.com/vllm-cuda:1
      args:
      - |
        python3 -m vllm.entrypoints.openai.api_server \\
          --model=/mnt/models ${flag}=16
`;
    expect(found({ 'a.yaml': service('--prefix-cache-block-size') })).toEqual([
      'unknown-size-flag a.yaml:10 warning',
    ]);
    expect(found({ 'a.yaml': service('--block-size') })).toEqual([]);
  });

  it.each([
    'vllm serve m --block-size=16',
    'vllm serve m --block_size 16',
    'vllm serve m --mamba-block-size 1024',
    'vllm serve m --hash-block-size 16',
    'python3 -m sglang.launch_server --model-path m --page-size 64',
    'python3 -m dynamo.vllm --model m --kv-block-size 16',
    'python3 -m dynamo.trtllm --model-path m --kv-block-size 32',
    'trtllm-serve m --tokens-per-block 32',
    'vllm serve m "$SIZE_FLAG"',
    'echo vllm serve m --page-size 16',
  ])('that it has, or may have, is none: %s', (command) => {
    expect(found({ 'a.sh': `${command}\n` })).toEqual([]);
  });
});

describe("the flag of one engine before Dynamo's wrapper of another", () => {
  it.each([
    ['python3 -m dynamo.sglang --model-path m --block-size 16', 1],
    ['python3 -m dynamo.vllm --model m --page-size=16', 1],
    ['python3 -m dynamo.sglang --model-path m --page-size 16', 0],
    ['python3 -m dynamo.mocker --model-path m --block-size 16', 0],
  ])('is refused by the parser of the engine: %s', (command, count) => {
    expect(found({ 'a.sh': `${command}\n` })).toEqual(
      Array.from({ length: count }, () => 'unknown-size-flag a.sh:1 warning'),
    );
  });
});
