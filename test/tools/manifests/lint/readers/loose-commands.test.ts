import { describe, expect, it } from 'vitest';
import { inspectTexts } from '../../../../../src/tools/manifests/lint/lint-texts.js';

/** What is named as seen and not checked in one file: program and line. */
function seen(text: string, file = 'values.yaml'): readonly string[] {
  return inspectTexts([{ file, text }]).notChecked.flatMap(({ program, places }) =>
    places.map(({ line }) => `${program}:${line}`),
  );
}

describe('commands of engines in files that no rule reads', () => {
  it.each([
    [
      'a list in the values of an unknown chart',
      'image: x\nserver:\n  command: [vllm, serve, m, --block-size, "32"]\n',
      ['vllm:3'],
    ],
    ['a list of lines', 'run:\n  - python3\n  - -m\n  - dynamo.frontend\n', ['dynamo.frontend:2']],
    [
      'a script of a task',
      'run: |\n  export A=1\n  A=1 exec python3 -m sglang.launch_server --model m\n',
      ['sglang:1'],
    ],
    [
      'a script that starts a container',
      'spec:\n  userData: |\n    #!/bin/bash\n    docker run -d --gpus all \\\n      -p 8000:8000 docker.io/vllm/vllm-openai:latest \\\n      --model m\n',
      ['vllm:2'],
    ],
    ['one text', 'cmd: trtllm-serve /models/m --port 8000\n', ['trtllm-serve:1']],
    [
      'a patch within a kustomization',
      'kind: Kustomization\npatches:\n  - patch: |\n      - op: add\n        value: |\n          exec vllm serve m\n',
      ['vllm:3'],
    ],
    [
      'arguments as one text',
      'm:\n  prefill_flags: "--tp-size 8 --page-size 64"\n  bench_flags: "--seed 1"\n  about: the flag --page-size 64\n',
      ['arguments of an engine:2'],
    ],
    [
      'arguments alone',
      'models:\n  - backend: vLLM\n    backend_parameters:\n      - --block-size=128\n',
      ['arguments of an engine:4'],
    ],
    [
      'a patch with arguments alone',
      'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  template:\n    spec:\n      containers:\n        - name: modelserver\n          args:\n            - --block-size=64\n',
      ['arguments of an engine:10'],
    ],
  ])('are named: %s', (_what, text, expected) => {
    expect(seen(text, text.startsWith('kind: Kust') ? 'kustomization.yaml' : 'values.yaml')).toEqual(
      expected,
    );
  });

  it.each([
    ['a sentence', 'description: "Start it with vllm serve, as the engine wants"\n'],
    ['a list of other flags', 'vllm: true\nargs: [--port=1, --verbose]\n'],
    ['a schema', 'kind: CustomResourceDefinition\nspec:\n  example: vllm serve m\n'],
    ['another container beside a word', 'run: |\n  docker run nginx\n  echo vllm/vllm-openai:latest\n'],
    ['a client', 'command: [vllm, bench, serve]\n'],
  ])('are not seen in %s', (_what, text) => expect(seen(text)).toEqual([]));

  it('are named once where another reader knows the file', () => {
    const compose = 'services:\n  a:\n    image: vllm/vllm-openai:v0.20.0\n    command: [vllm, serve, m]\n';
    expect(seen(compose, 'compose.yaml')).toEqual(['vllm:4']);
  });
});
